// Opens the page Setup of an installation with a server for texts and without one for mail, and sends test messages: with
// script, by keyboard, and without script.
'use strict';

const assert = require('node:assert/strict');
const http = require('node:http');
const { signedIn } = require('./first_start.js');
const { axe, layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

// phones is a server for texts. It refuses numbers that end with 9.
async function phones() {
  const got = [];
  const server = http.createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const to = new URLSearchParams(body).get('To');
    got.push(to);
    response.writeHead(to.endsWith('9') ? 400 : 201, { 'Content-Type': 'application/json' });
    response.end(to.endsWith('9') ? JSON.stringify({ code: 21614, message: `${to} is not a mobile number` }) : '{"status": "queued"}');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { got, server, url: `http://AC0123456789abcdef0123456789abcdef:token@127.0.0.1:${server.address().port}/?from=%2B15550100` };
}

async function walk(bench, platform, state, got, options, scripts) {
  const visitor = await Visitor.open(bench.browser, { viewport: { width: 360, height: 740 }, storageState: state, ...options });
  const { page } = visitor;
  const found = [], name = scripts ? 'setup' : 'setup-scriptless';
  const home = `${new URL(platform.link).origin}/console`;
  const look = async (what) => {
    found.push(...(await layout(page)).map((text) => `${what}: ${text}`), ...(scripts ? await axe(page) : []));
    await bench.shoot(page, `${name}-${what}`);
  };
  // send sends the form of a channel with the Enter key, and waits for the text on the page.
  const send = async (channel, number, text) => {
    await page.fill(`#${channel}-phone`, number);
    await Promise.all([page.waitForNavigation(), page.press(`#${channel}-phone`, 'Enter')]);
    for (const began = Date.now(); !(await page.innerText('main')).includes(text);) {
      assert.ok(Date.now() - began < 60_000, `the page does not show ${text}: ${await page.innerText(`#${channel}`)}`);
      await page.waitForTimeout(300);
      await page.reload();
    }
  };
  await visitor.go(`${home}/`);
  await page.click('.tabs a[href="#menu"]');
  await Promise.all([page.waitForURL('**/setup'), page.click('.nav a[href$="/setup"]')]);
  const text = await page.innerText('main');
  for (const wanted of ['Mail is not set up.', 'SMTP_URL', 'No backup is on record.', 'WHATSAPP_TEMPLATE', 'Works, SQLite']) assert.ok(text.includes(wanted), `the page does not show ${wanted}: ${text}`);
  assert.equal(await page.locator('form[action^="/console/setup/email"]').count(), 0, 'there is no test of a channel that is not set up');
  await look('page');
  await send('sms', '0151', 'There is a problem');
  assert.equal(await page.inputValue('#sms-phone'), '0151');
  await look('wrong');
  await send('sms', '+49 151 12345678', 'The server has accepted the test message.');
  await look('sent');
  await send('whatsapp', '+4915112345679', '*** is not a mobile number');
  assert.ok(!(await page.content()).includes('15112345679'), 'the number is not shown');
  await look('refused');
  assert.deepEqual(got.splice(0), ['+4915112345678', 'whatsapp:+4915112345679']);
  if (scripts) {
    await page.setViewportSize({ width: 1280, height: 800 });
    await look('wide');
  }
  found.push(...await visitor.findings());
  await visitor.close();
  return found;
}

// check returns the walks.
const check = (bench) => async () => {
  const { got, server, url } = await phones();
  try {
    return await signedIn(bench, async (_, platform, state) => [
      ...await walk(bench, platform, state, got, {}, true), ...await walk(bench, platform, state, got, { javaScriptEnabled: false }, false),
    ], { SMS_URL: url })();
  } finally {
    server.close();
  }
};

module.exports = { check };
