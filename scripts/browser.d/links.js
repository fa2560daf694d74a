// A visitor subscribes, follows the links of the messages, and unsubscribes.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { axe, layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

// linkTo waits for a mail to an address with a link to a page, and returns the link in the newest mail.
async function linkTo(bench, address, at) {
  for (let tries = 0; tries < 300; tries++) {
    const mails = fs.existsSync(bench.mails) ? fs.readdirSync(bench.mails).filter((name) => name.endsWith('.eml')) : [];
    for (const name of mails.sort().reverse()) {
      const mail = fs.readFileSync(path.join(bench.mails, name), 'utf8');
      const text = mail.replace(/=\r?\n/g, '').replaceAll('=3D', '=');
      const link = text.includes(address) && text.match(new RegExp(`https?://[^\\s"<>]*/public/${at}\\?token=[\\w.~%-]+`));
      if (link) return link[0];
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  return assert.fail(`no mail to ${address} with a link to ${at}`);
}

const channels = {
  email: { confirm: 'confirm', fields: (address) => ({ email: address }), wrong: { email: '"><script>alert(20)</script>' } },
  webhook: {
    confirm: 'endpoints/verify', fields: (address) => ({ url: `https://receiver.example/${address}`, managementEmail: address }),
    wrong: { url: 'http://10.0.0.1/alert(20)', managementEmail: '"><script>alert(21)</script>' },
  },
};

// links walks through the pages of a channel on a dashboard.
async function links(bench, dashboard, channel, options) {
  const found = [];
  const address = `${dashboard.name}-${channel}-${options.viewport.width}@x.example`;
  const visitor = await Visitor.open(bench.browser, options);
  const { page } = visitor;
  const check = async (name) => {
    bench.keep(`${dashboard.name}-${channel}-${name}`, await page.content());
    await bench.shoot(page, `${dashboard.name}-${channel}-${name}-${options.viewport.width}`);
    found.push(...[...await axe(page), ...await layout(page), ...await visitor.findings()].map((text) => `${name}: ${text}`));
  };
  const submit = async (button, status) => {
    const [response] = await Promise.all([page.waitForNavigation(), button.click()]);
    assert.equal(response.status(), status);
  };
  // fill fills the form of the channel and returns the button. It turns off the browser's validation of the form.
  const fill = async (fields) => {
    const form = page.locator(`form:has([name=${Object.keys(fields)[0]}]):has([type=submit])`).first();
    await form.evaluate((e) => {
      e.noValidate = true;
      e.closest('details')?.setAttribute('open', '');
    });
    for (const [name, value] of Object.entries(fields)) await form.locator(`[name=${name}]`).fill(value);
    return form.locator('[type=submit]');
  };

  const { confirm, fields, wrong } = channels[channel];
  await visitor.go(`${dashboard.url}/subscribe`);
  await submit(await fill(wrong), 422);
  await check('wrong');
  await submit(await fill(fields(address)), 200);
  assert.equal(page.url(), `${dashboard.url}/subscribe/sent`);
  await check('sent');

  const link = await linkTo(bench, address, confirm);
  await visitor.go(link);
  await check('confirm');
  await submit(page.locator('[type=submit]'), 200);
  await check('confirmed');
  await Promise.all([page.waitForNavigation(), page.click('a[href*="manage?token="]')]);
  await check('manage');
  await page.check('[name=paused]');
  await submit(page.locator('[value=save]'), 200);
  await check('saved');
  await submit(page.locator('[value=unsubscribe]'), 200);
  await check('unsubscribed');
  await visitor.go(link, 410);
  await check('used');
  await visitor.go(`${link}x`, 404);
  await check('damaged');
  await visitor.close();
  return found;
}

module.exports = { links };
