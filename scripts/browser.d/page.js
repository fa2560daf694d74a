// Checks of a loaded page. Each function returns its findings as lines of text.
'use strict';

const fs = require('node:fs');

const axeSource = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

// axe returns what axe-core finds: WCAG 2.2 up to AA, and its best practices. The themes differ only in their colours, so in
// the dark theme it checks only contrast. Pages in frames are checked as pages of their own.
async function axe(page, theme = 'light') {
  await page.evaluate(axeSource);
  const violations = await page.evaluate(async (dark) => {
    const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
    const what = dark ? { runOnly: { type: 'rule', values: ['color-contrast'] } } : { runOnly: tags, rules: { 'target-size': { enabled: true } } };
    const results = await window.axe.run({ ...what, iframes: false, resultTypes: ['violations'] });
    return results.violations.map((v) => `${v.id}: ${v.help}\n${v.nodes.slice(0, 3).map((n) => `    ${n.html.slice(0, 200)}\n    ${n.failureSummary}`).join('\n')}`);
  }, theme === 'dark');
  return violations.map((text) => `axe ${text}`);
}

// layout returns the texts and boxes that are misplaced: the page must not scroll sideways, and no text may be cut off or
// outside of its card.
function layout(page) {
  return page.evaluate(() => {
    const found = [];
    const root = document.scrollingElement;
    const name = (e) => `<${e.localName} class="${e.getAttribute('class') ?? ''}"> ${e.textContent.trim().slice(0, 40)}`;
    if (root.scrollWidth > root.clientWidth) found.push(`the page is ${root.scrollWidth} wide in ${root.clientWidth}`);
    const hidden = '.vh, .skip, .sprite, script, style, title, #tip';
    for (const e of document.querySelectorAll('body *')) {
      if (e.closest(hidden) || !e.checkVisibility() || e instanceof SVGElement || e instanceof HTMLInputElement) continue; // the text of an input scrolls
      const { overflowX } = getComputedStyle(e);
      if (overflowX !== 'visible' && e.scrollWidth > e.clientWidth + 1) found.push(`cut off: ${name(e)}`);
    }
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!node.data.trim() || parent.closest(hidden) || !parent.checkVisibility() || parent instanceof SVGElement) continue;
      const box = parent.closest('.card, .hero, .pill, .btn, body').getBoundingClientRect();
      range.selectNodeContents(node);
      for (const rect of range.getClientRects()) {
        if (rect.width > 1 && (rect.right > box.right + 1 || rect.left < box.left - 1)) {
          found.push(`leaves its box by ${Math.round(Math.max(rect.right - box.right, box.left - rect.left))} px: ${name(parent)}`);
          break;
        }
      }
    }
    return found;
  });
}

// enlarge doubles the size of text (WCAG 1.4.4), and space widens its spacing (1.4.12). Both change styles through the
// debugger, which the policy of the page does not prevent.
const enlarge = (page) => page.evaluate(() => { document.documentElement.style.fontSize = '200%'; });
const space = (page) => page.evaluate(() => {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('*{line-height:1.5!important;letter-spacing:.12em!important;word-spacing:.16em!important}p{margin-bottom:2em!important}');
  document.adoptedStyleSheets = [sheet];
});

// content returns the texts and links of the page. It omits times, because the script of the page converts them.
function content(page) {
  return page.evaluate(() => {
    const main = document.querySelector('main').cloneNode(true);
    const links = [...main.querySelectorAll('[href]')].map((a) => a.getAttribute('href'));
    main.querySelectorAll('time, .range, .bar').forEach((e) => e.remove());
    return { links, text: main.textContent.replace(/\s+/g, ' ') };
  });
}

module.exports = { axe, layout, enlarge, space, content };
