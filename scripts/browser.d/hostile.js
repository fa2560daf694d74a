// Texts that would execute, load or change something if a page, a feed, a badge or a calendar did not escape them.
'use strict';

const short = [
  '<script>alert(1)</script>',
  '"><img src=x onerror=alert(2)>',
  '</title></style><style>*{display:none}</style>',
  "]]></textarea>--><!-- ' onfocus=alert(3) x='",
  'Ẃ'.repeat(500),
  '\u2067gnp.exe\u2069 \u2066(back)\u2069',
  'שלום עולם <b>مرحبا</b> 100%',
  'zero\u200B\u200D\u2060\uFEFFwidth\u00AD',
  'Z\u0334\u0352\u0317\u0321\u0336\u035C\u034Da\u0335\u0306\u0340\u0317l\u0338\u0313\u0359g\u0334\u0308\u034Do',
  '👩‍👩‍👧‍👦🏳️‍🌈🇺🇳 \u{1F600}\u{E0041}',
  '{{.Title}}${alert(4)}`%00%0d%0a&lt;&#60;&amp;',
  'END:VEVENT\\nBEGIN:VEVENT\\, ;javascript:alert(5)',
];

// A text that turns what follows it. The platform refuses such characters, but not references to them.
const turned = '&#x202E;gnp.exe&#x2066; &#x202D;(back) &#x202B;<b>';

// texts returns the texts, cut to the maximum length of a field.
const texts = (length) => short.map((text) => Array.from(text).slice(0, length).join(''));

// Markup that rich text does not allow. In a parser that reads the text as HTML, the last one hides everything after it.
const markup = [
  '<svg onload=alert(6)><style>body{display:none}</style></svg>', '<iframe srcdoc="<script>alert(7)</script>"></iframe>',
  '<a href="javascript:alert(8)" style="position:fixed;inset:0" onclick=alert(9)>a link</a>', '<base href="https://evil.example/">',
  '<meta http-equiv=refresh content="0;url=https://evil.example/">', '<link rel=stylesheet href="https://evil.example/x.css">',
  '<img src="https://evil.example/x.png" width=9999><table width=9999><tr><td>a cell</table>', '<form action="https://evil.example/"><input autofocus onfocus=alert(10)></form>',
  '<div class="hero x" id="main" style="width:9999px">a box</div>', '<h1>large</h1><h6>small</h6>', '</main></body></html>', 'a\r\nBEGIN:VALARM\u2028\u2029&#x85;b&#7;',
];
const plain = short.filter((text) => !text.includes('<'));
const everything = [...plain, turned, ...markup, ...short.filter((text) => text.includes('<'))].join('\n');

// Each format of rich text: HTML, plain text, and a structured document.
const rich = [
  `<p>${markup.join(' ')}</p><ul><li>${'W'.repeat(500)}<ol><li>x</ol></ul><blockquote><pre>${'p'.repeat(500)}</pre></blockquote>${everything}`,
  plain.join('\n'),
  JSON.stringify({
    type: 'doc', content: [
      { type: 'paragraph', content: short.map((text) => ({ type: 'text', text, marks: [{ type: 'bold' }] })) },
      { type: 'paragraph', content: [{ type: 'text', text: '</a><script>alert(11)</script>', marks: [{ type: 'link', attrs: { href: 'https://x.example/"onclick="alert(12)' } }] }] },
    ],
  }),
];

const settings = {
  description: everything.slice(0, 1000),
  timezone: 'Asia/Kathmandu',
  locale: 'en',
  branding: { logoUrl: 'https://img.example.com/logo.svg?"onerror="alert(13)', faviconUrl: null, primaryColor: '#ffff00', theme: 'auto' },
  links: {
    homepageUrl: 'https://x.example/"><script>alert(14)</script>', supportUrl: 'mailto:a@x.example?subject="><script>alert(15)</script>',
    navigation: [0, 3, 4, 5].map((n) => ({ text: texts(50)[n], href: 'https://x.example/?"><script>alert(16)</script>' })),
  },
};

module.exports = { texts, everything, rich, settings };
