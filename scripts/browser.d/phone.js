// Reports, updates and resolves incidents on a phone of 360 px, and counts the taps.
'use strict';

const assert = require('node:assert/strict');
const { layout } = require('./page.js');
const { fresh, Visitor } = require('./visitor.js');

const screen = { viewport: { width: 360, height: 740 }, deviceScaleFactor: 2, hasTouch: true, isMobile: true };
const thumb = 40; // least height of what is tapped, in px; controls have 44

// Phone is the console on a phone. Each tap and each filled field is counted.
class Phone {
  static async open(bench, platform, state, options = {}) {
    const phone = new this();
    Object.assign(phone, { bench, platform, taps: 0, fields: 0, found: [], visitor: await Visitor.open(bench.browser, { ...screen, storageState: state, ...options }) });
    phone.page = phone.visitor.page;
    phone.home = `${new URL(platform.link).origin}/console/`;
    return phone;
  }

  // start opens the overview, and begins to count.
  async start() {
    await this.visitor.go(this.home);
    this.taps = this.fields = 0;
  }

  async tap(selector) {
    const target = this.page.locator(selector).first();
    await target.tap();
    this.taps++;
  }

  // follow taps a link or a button that leads to another page.
  async follow(selector) {
    const { height } = await this.page.locator(selector).first().boundingBox();
    if (height < thumb) this.found.push(`${selector} is ${height} px high`);
    const [response] = await Promise.all([this.page.waitForNavigation(), this.tap(selector)]);
    assert.ok(response.ok(), `${this.page.url()}: ${response.status()}`);
    this.found.push(...(await layout(this.page)).map((text) => `${this.page.url()}: ${text}`));
  }

  async type(selector, text) {
    await this.page.fill(selector, text);
    this.fields++;
  }

  // events returns the events with the title, as the App interface has them.
  async events(title) {
    const { events } = await this.platform.app.send('GET', '/events?limit=100');
    return events.filter((event) => event.title === title);
  }

  async public(text) {
    assert.ok((await fresh(`${this.platform.credentials.dashboardUrl}/`)).includes(text), `the public page does not show ${text}`);
  }

  counted(taps, fields) { assert.deepEqual({ taps: this.taps, fields: this.fields }, { taps, fields }); }

  async close() {
    const found = [...this.found, ...await this.visitor.findings()];
    await this.visitor.close();
    return found;
  }
}

const report = '.tabs a[href$="/events/new"]';
const api = 'label.chip:has-text("API")';
const publish = 'main .bar .btn:not(.second)';

// incident publishes an incident with three taps and a title. An update and its end are two taps each.
async function incident(phone) {
  const title = 'Requests to the API fail';
  await phone.start();
  await phone.follow(report);
  await phone.tap(api);
  await phone.type('#title', title);
  await phone.bench.shoot(phone.page, 'phone-report');
  await phone.follow(publish);
  phone.counted(3, 1);
  assert.equal((await phone.events(title)).length, 1);
  await phone.public(title);
  await phone.bench.shoot(phone.page, 'phone-event');

  for (const [status, text] of [['identified', 'We have found the cause'], ['resolved', 'This problem is resolved']]) {
    await phone.start();
    await phone.bench.shoot(phone.page, `phone-${status}`);
    await phone.follow(`.event a[href*="status=${status}"]`);
    await phone.follow(`#update ${publish.slice('main '.length)}`);
    phone.counted(2, 0);
    assert.equal((await phone.events(title))[0].status, status);
    await phone.public(text);
  }
}

// twice taps Publish twice, and the button of an update.
async function twice(phone) {
  const title = 'Pages are slow';
  const tapTwice = async (selector) => {
    await phone.page.locator(selector).first().scrollIntoViewIfNeeded();
    const { x, y, width, height } = await phone.page.locator(selector).first().boundingBox();
    await phone.page.touchscreen.tap(x + width / 2, y + height / 2);
    await phone.page.touchscreen.tap(x + width / 2, y + height / 2);
    // Without script, the second tap ends the first navigation and begins another one.
    for (let tries = 0; !/\/events\/[0-9a-f-]{36}$/.test(phone.page.url()); tries++) {
      assert.ok(tries < 2400, `${phone.page.url()} is no event`);
      await phone.page.waitForTimeout(50);
    }
    await phone.page.waitForLoadState();
  };
  await phone.start();
  await phone.follow(report);
  await phone.tap(api);
  await phone.type('#title', title);
  await tapTwice(publish);
  const [made, ...others] = await phone.events(title);
  assert.deepEqual(others, [], 'a double tap makes one event');
  await phone.visitor.go(`${phone.home}events/${made.id}?status=resolved`);
  await tapTwice('#update .bar .btn');
  const { event } = await phone.platform.app.send('GET', `/events/${made.id}`);
  assert.deepEqual(event.timeline.map((entry) => entry.status), ['resolved', 'investigating'], 'a double tap makes one update');
}

// template chooses templates after something was typed. The text stays, and the page says so.
async function template(phone) {
  const { app } = phone.platform;
  const { components } = await app.send('GET', '/components?limit=100');
  const website = components.find((component) => component.name === 'Website').id;
  await app.send('POST', '/templates', { kind: 'incident', name: 'Website down', title: 'The website is down', status: 'identified', severity: 'major_outage', message: 'A server has failed.', componentIds: [website] });
  await app.send('POST', '/templates', { kind: 'update', name: 'Still at it', status: 'monitoring', message: 'We are still at it.' });
  await phone.start();
  await phone.follow(report);
  await phone.follow('main .chip:has-text("Website down")');
  phone.counted(2, 0);
  await phone.follow(publish);
  phone.counted(3, 0);
  assert.equal((await phone.events('The website is down')).length, 1, 'a template needs no typing');

  await phone.visitor.go(`${phone.home}events/new`);
  await phone.type('#title', 'My own title');
  await phone.type('#message', 'My own message');
  await phone.follow('main .chip:has-text("Website down")');
  assert.deepEqual([await phone.page.inputValue('#title'), await phone.page.inputValue('#message')], ['My own title', 'My own message']);
  assert.equal(await phone.page.inputValue('[name=severity]:checked'), 'major_outage', 'the template sets the rest');
  assert.match(await phone.page.innerText('main [role=status]'), /What you typed stays: title and message\./);
  await phone.bench.shoot(phone.page, 'phone-template');
  await phone.follow(publish);

  await phone.type('#message', 'My own update');
  await phone.follow('#update .chip:has-text("Still at it")');
  assert.equal(await phone.page.inputValue('#message'), 'My own update');
  assert.match(await phone.page.innerText('main [role=status]'), /What you typed stays: message\./);
}

async function run(bench, platform, state, options, parts) {
  const phone = await Phone.open(bench, platform, state, options);
  for (const part of parts) await part(phone);
  return phone.close();
}

const all = (bench, platform, state) => run(bench, platform, state, {}, [incident, twice, template]);
const scriptless = (bench, platform, state) => run(bench, platform, state, { javaScriptEnabled: false }, [incident, twice, template]);

module.exports = { all, scriptless };
