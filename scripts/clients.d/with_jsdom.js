// jsdom: a browser document without a screen. embed.js of the public page runs in it as on another site. The script is that
// of the sample in services/events/internal/site. The checks vary its settings and the responses to status.json.
'use strict';

const { JSDOM } = require('jsdom');
const { assert, credentials, run } = require('./checks.js');

const wrong = { indicator: 'major', description: 'Partial System Outage' };
const fine = { indicator: 'none', description: 'All Systems Operational' };

// visit runs the script in a new document. next responds to the next request for the status, and then runs pending timers.
async function visit(change = (script) => script, html = '<!doctype html><body><p>Shop</p>') {
  const response = await fetch(`${credentials.baseUrl}/embed.js`);
  assert.equal(response.status, 200);
  const requests = [];
  const timers = [];
  const { window } = new JSDOM(html, { url: 'https://shop.example/', runScripts: 'outside-only', pretendToBeVisual: true });
  window.fetch = (url, options) => new Promise((resolve, reject) => requests.push({ url, options, resolve, reject }));
  window.setTimeout = (call, delay) => timers.push({ call, delay });
  window.clearTimeout = () => {};
  window.eval(change(await response.text()));
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  const next = async (status) => {
    if (requests.length === 0) timers.pop().call();
    const request = requests.shift();
    if (status instanceof Error) request.reject(status);
    else request.resolve({ json: async () => ({ status }) });
    await settled();
    return request;
  };
  return { window, document: window.document, next, timers, banner: () => window.document.querySelector('section') };
}

run('jsdom', {
  'a banner while something is wrong': async () => {
    const page = await visit();
    const request = await page.next(fine);
    assert.equal(request.url, 'https://status.example.com/api/v2/status.json');
    assert.equal(request.options.credentials, 'omit');
    assert.equal(page.banner(), null);
    await page.next(wrong);
    assert.equal(page.banner().querySelector('[role=status]').textContent, 'Acme & Söhne: Partial outage Details');
    assert.equal(page.banner().querySelector('a').href, 'https://status.example.com/');
    assert.equal(page.banner().getAttribute('aria-label'), 'Acme & Söhne');
    await page.next({ indicator: 'critical', description: 'Major System Outage' });
    assert.equal(page.document.querySelectorAll('section').length, 1);
    assert.match(page.banner().textContent, /Major outage/);
    await page.next(fine);
    assert.equal(page.banner(), null);
  },
  'the visitor closes a message once': async () => {
    const page = await visit();
    await page.next(wrong);
    const button = page.banner().querySelector('button');
    assert.equal(button.getAttribute('aria-label'), 'Close');
    button.click();
    assert.equal(page.banner(), null);
    await page.next(wrong);
    assert.equal(page.banner(), null);
    await page.next({ indicator: 'critical', description: 'Major System Outage' });
    assert.notEqual(page.banner(), null);
    await page.next(fine);
    await page.next(wrong);
    assert.notEqual(page.banner(), null, 'a later outage with the words of the closed one');
  },
  'without storage, and with no cookie': async () => {
    const page = await visit();
    Object.defineProperty(page.window, 'sessionStorage', { get() { throw new page.window.Error('refused'); } });
    await page.next(wrong);
    page.banner().querySelector('button').click();
    await page.next(wrong);
    assert.equal(page.banner(), null);
    assert.equal(page.document.cookie, '');
  },
  'texts are text': async () => {
    const hostile = '<img src=x onerror=alert(1)></section>"\'';
    const page = await visit((script) => script.replace('Acme \\u0026 Söhne', JSON.stringify(hostile).slice(1, -1)));
    await page.next({ indicator: 'minor', description: hostile });
    assert.equal(page.banner().querySelector('[role=status]').textContent, `${hostile}: ${hostile} Details`);
    assert.equal(page.document.querySelector('img'), null);
    for (const indicator of ['unheard of', 'constructor', undefined]) {
      await page.next({ indicator, description: hostile });
      assert.equal(page.banner(), null);
    }
  },
  'a failure keeps the banner and waits longer': async () => {
    const page = await visit();
    await page.next(wrong);
    const { delay } = page.timers.at(-1);
    assert.ok(delay >= 45_000 && delay <= 75_000, `${delay}`);
    for (let n = 0; n < 5; n++) await page.next(new Error('offline'));
    assert.notEqual(page.banner(), null);
    const later = page.timers.at(-1).delay;
    assert.ok(later >= 450_000 && later <= 750_000, `${later}`);
    await page.next(undefined); // a response of another form
    assert.notEqual(page.banner(), null);
  },
});
