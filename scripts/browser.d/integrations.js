// Follows a webhook from its creation by a test, failures, the alert, the suppression and a message that is sent again to its end,
// and makes a key of the inbound webhook whose printed command works: with script, without script on a phone, and by keyboard
// alone.
'use strict';

const assert = require('node:assert/strict');
const { spawnSync } = require('node:child_process');
const { createHmac } = require('node:crypto');
const fs = require('node:fs');
const https = require('node:https');
const os = require('node:os');
const path = require('node:path');
const selfsigned = require('selfsigned');
const { Person, KeyboardPerson, signedIn } = require('./first_start.js');
const { axe, layout } = require('./page.js');

const host = 'receiver.example';
const failures = 10; // as many failed messages suppress a URL, and half of them alert the contact
const phone = { viewport: { width: 360, height: 740 }, javaScriptEnabled: false };

// receive starts a receiver of webhooks. It returns the settings with which a platform reaches the receiver.
async function receive() {
  const { private: key, cert } = await selfsigned.generate([{ name: 'commonName', value: host }], {
    extensions: [{ name: 'basicConstraints', cA: true }, { name: 'subjectAltName', altNames: [{ type: 2, value: host }] }],
  });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'receiver-'));
  const file = path.join(folder, 'ca.pem');
  fs.writeFileSync(file, cert);
  const receiver = { status: 200, requests: [] };
  const server = https.createServer({ key, cert }, async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    receiver.requests.push({ path: request.url, headers: request.headers, body });
    response.writeHead(receiver.status).end();
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.settings = { DELIVERY_RESOLVE: `${host}:443=127.0.0.1:${server.address().port}`, DELIVERY_CA_FILE: file, DELIVERY_RETRY_SCHEDULE: '20ms' };
  receiver.end = () => {
    server.closeAllConnections();
    server.close();
    fs.rmSync(folder, { recursive: true });
  };
  return receiver;
}

// until repeats the check until it returns true.
async function until(what, check) {
  for (let tries = 0; !await check(); tries++) {
    assert.ok(tries < 200, `${what} has not come`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

// Walk is a person with the pages that are below the console of a platform.
class Walk {
  constructor(bench, platform, person, script) {
    Object.assign(this, { bench, platform, person, script, page: person.page, base: `${new URL(platform.link).origin}/console` });
  }

  go(at) { return this.person.go(this.base + at); }

  at() { return new URL(this.page.url()).pathname.replace('/console', ''); }

  async shows(text) { assert.ok((await this.page.innerText('main')).includes(text), `${this.page.url()} does not show ${text}: ${await this.page.innerText('main')}`); }

  // sees loads the page until it shows the text.
  sees(text) {
    return until(text, async () => {
      await this.page.reload();
      return (await this.page.innerText('main')).includes(text);
    });
  }

  // look checks the page, narrow in light colours and wide in dark ones. The list in console.js has the other pairs.
  async look(name) {
    const size = this.page.viewportSize();
    for (const [colorScheme, width] of [['light', 360], ['dark', 1280]]) {
      await this.page.emulateMedia({ colorScheme });
      await this.page.setViewportSize({ width, height: width < 1280 ? 740 : 800 });
      this.person.problems.push(...[...await layout(this.page), ...(this.script ? await axe(this.page, colorScheme) : [])].map((text) => `${name} ${colorScheme} ${width}: ${text}`));
      await this.bench.shoot(this.page, `integrations-${name}${this.script ? '' : '-scriptless'}-${colorScheme}-${width}`);
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
    await this.page.setViewportSize(size);
    this.bench.keep(`integrations-${name}${this.script ? '' : '-scriptless'}`, await this.page.content());
  }

  // confirm presses a link that asks before it changes something: in a dialog, or without script on a page.
  async confirm(link, name) {
    if (!this.script) {
      await this.person.use(link);
      await this.look(name);
      return this.person.use('main form:not([role=search]) .btn:not(.second)');
    }
    await this.person.press(this.page.locator(link).first());
    await this.page.locator('dialog[open]').waitFor();
    await this.look(name);
    return this.person.use('dialog[open] form button');
  }

  async tell(title) {
    const { components } = await this.platform.app.send('GET', '/components?limit=100');
    await this.platform.app.send('POST', '/events', { type: 'incident', title, affectedComponents: [{ componentId: components[0].id }], notify: { webhook: true } });
  }

  mails(address) {
    const folder = path.join(this.platform.data, 'mail');
    return fs.existsSync(folder) ? fs.readdirSync(folder).map((name) => fs.readFileSync(path.join(folder, name), 'utf8')).filter((mail) => mail.includes(address)).length : 0;
  }
}

// endpoint creates a webhook, and follows it to its deletion.
async function endpoint(walk, receiver, name) {
  const { person, page } = walk;
  const contact = `${name}@example.com`;
  const ours = (text) => receiver.requests.filter((one) => one.path === `/${name}` && one.body.includes(text));
  await walk.go('/integrations/webhook');
  await walk.shows('No program gets webhooks yet.');
  await walk.look('none');
  await person.use('.head a[href$="/new"]');
  await walk.look('new');
  await person.type('#url', 'http://wrong');
  await person.type('#managementEmail', contact);
  const create = 'form.card .acts .btn:not(.second)';
  await Promise.all([page.waitForNavigation(), person.press(page.locator(create))]);
  await walk.shows('There is a problem');
  await walk.look('new-wrong');
  await person.type('#url', `https://${host}/${name}`);
  await person.use(create);
  const secret = await page.textContent('#secret');
  await walk.look('secret');
  await person.use('text=I have copied it');
  await walk.look('working');

  await person.use('form[action*="/test?"] button');
  if (walk.script) await page.locator('text=The test message has arrived.').waitFor();
  else await walk.sees('The test message has arrived.');
  await walk.look('tested');
  const [test] = ours('endpoint.test');
  const mac = createHmac('sha256', Buffer.from(secret.replace('whsec_', ''), 'base64'));
  assert.equal(test.headers['webhook-signature'], `v1,${mac.update(`${test.headers['webhook-id']}.${test.headers['webhook-timestamp']}.${test.body}`).digest('base64')}`);

  receiver.status = 500;
  for (let n = 0; n < failures / 2; n++) await walk.tell(`Failure ${n} of ${name}`);
  await walk.sees(`${failures / 2} in a row did not arrive.`);
  await walk.look('failing');
  await until('the alert', () => walk.mails(contact) > 0);
  await walk.go('/');
  await person.use('section[aria-labelledby=failing] .to a');
  for (let n = failures / 2; n < failures; n++) await walk.tell(`Failure ${n} of ${name}`);
  await walk.sees('The URL is suppressed.');
  await walk.look('suppressed');
  receiver.status = 200;
  await walk.go('/integrations/webhook');
  await walk.look('list');
  await walk.go('/integrations/webhook/suppression');
  await walk.look('suppressions');
  await person.use('main .rows .to a');
  await walk.confirm('.hero a[href$="/clear"]', 'clear');
  await walk.shows('Gets messages');
  await walk.tell(`Back again ${name}`);
  await until('the message after the suppression', () => ours(`Back again ${name}`).length > 0);
  await why(walk, receiver, name);
  await walk.go('/integrations/webhook');
  await person.use('main .rows .to a');
  await person.use('form[action*="/pause?"] button');
  await walk.shows('Messages are paused.');
  await walk.look('paused');
  await walk.confirm('.head a[href$="/delete"]', 'delete');
  assert.equal(walk.at(), '/integrations/webhook');
  const { events } = await walk.platform.app.send('GET', '/events?limit=100');
  for (const { id } of events) await walk.platform.app.send('DELETE', `/events/${id}`); // the next walk begins as this one
}

// why finds out from an event why a message did not arrive, and sends the message again.
async function why(walk, receiver, name) {
  const { person } = walk;
  receiver.status = 500;
  const title = `Lost by ${name}`;
  await walk.tell(title);
  const { events } = await walk.platform.app.send('GET', '/events?limit=1');
  await walk.go(`/events/${events[0].id}`);
  await walk.sees('Why did somebody get nothing?');
  await person.use('a:has-text("Why did somebody get nothing?")');
  await walk.look('why');
  await person.use('.views a:has-text("Webhooks")');
  await walk.shows(title);
  const ask = 'form.card:has([name=endpoint]) .btn';
  await until('the end of the delivery', async () => {
    await walk.page.selectOption('[name=endpoint]', { index: 1 });
    await person.use(ask);
    return (await walk.page.innerText('main')).includes('Failed');
  });
  await walk.look('why-failed');
  await person.use('main a:has-text("Show the attempts")');
  await walk.look('why-attempts');
  receiver.status = 200;
  const arrived = () => receiver.requests.filter((one) => one.path === `/${name}` && one.body.includes(title)).length;
  const before = arrived();
  await walk.confirm('main a[href$="/replay"]', 'why-again');
  await until('the message that is sent again', () => arrived() > before);
}

// inbound creates a key, and runs the command that the page shows.
async function inbound(walk, name) {
  const { person, page } = walk;
  await walk.go('/inbound');
  await walk.look('inbound');
  await person.type('#name', name);
  await person.use('main form.card .btn:not(.second)');
  await walk.look('inbound-key');
  const run = spawnSync('bash', ['-c', await page.textContent('#command')], { encoding: 'utf8' });
  assert.match(run.stdout, /"result":"(created|ignored|updated)"/, run.stderr);
  await person.use('text=Show arrivals');
  await walk.shows('command-line');
  await walk.look('arrivals');
  await person.use('.views a[href="/console/inbound"]');
  await walk.confirm('main a[href$="/revoke"]', 'inbound-revoke');
  await walk.shows('The key is revoked.');
  await walk.look('inbound-revoked');
}

// all returns a check of all walks, on a platform of its own.
const all = (bench) => async () => {
  const receiver = await receive();
  try {
    return await signedIn(bench, async (_, platform, storageState) => {
      const found = [];
      for (const [name, Kind, options, script] of [['script', Person, {}, true], ['phone', Person, phone, false], ['keyboard', KeyboardPerson, {}, true]]) {
        const person = await Kind.open(bench, platform.link, { viewport: { width: 1280, height: 800 }, storageState, ...options });
        const walk = new Walk(bench, platform, person, script);
        await endpoint(walk, receiver, name);
        await inbound(walk, name);
        found.push(...[...person.problems, ...await person.visitor.findings()].map((text) => `${name}: ${text}`));
        await person.visitor.close();
      }
      return found;
    }, receiver.settings)();
  } finally {
    receiver.end();
  }
};

module.exports = { all };
