// Creates the dashboards whose pages are checked, through the App interface of a running platform.
'use strict';

const hostile = require('./hostile.js');

const minute = 60_000;
const hour = 60 * minute;
const day = 24 * hour;
const at = (offset) => new Date(Date.now() + offset).toISOString();

// App sends requests with an App key. A response with an error status is an error.
class App {
  constructor(credentials) {
    this.base = credentials.baseUrl;
    this.headers = { Authorization: `Bearer ${credentials.appKey}`, 'Content-Type': 'application/json' };
  }

  async send(method, path, body) {
    const response = await fetch(`${this.base}/app${path}`, { method, headers: this.headers, body: body && JSON.stringify(body) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text && JSON.parse(text);
  }

  // dashboard creates a dashboard with its own components: [name, group, description].
  async dashboard(name, slug, components, settings = {}, content = {}) {
    const { dashboard } = await this.send('POST', '/dashboards', { name, slug });
    const ids = [];
    for (const [of, group, description] of components) {
      const { component } = await this.send('POST', '/components', { name: of, groupName: group, description });
      ids.push(component.id);
    }
    const placements = ids.map((componentId, n) => ({ componentId, groupName: components[n][1] }));
    await this.send('PUT', `/dashboards/${dashboard.id}/components`, { components: placements });
    const channels = { email: true, sms: true, whatsapp: true, webhook: true, teams: true, gchat: true, slack: true, discord: true };
    await this.send('PATCH', `/dashboards/${dashboard.id}`, { subscriptions: channels, ...settings });
    const old = (await this.send('GET', `/dashboards/${dashboard.id}/content`)).content;
    const modules = Object.fromEntries(Object.keys(old.modules).map((module) => [module, true]));
    await this.send('PUT', `/dashboards/${dashboard.id}/content`, { ...old, modules, ...content });
    return { id: dashboard.id, name: slug, url: dashboard.url, components: ids, events: [] };
  }

  // event creates an event and then its timeline entries: [status, message].
  async event(dashboard, fields, entries = []) {
    const { event } = await this.send('POST', '/events', { notify: false, ...fields });
    for (const [status, message] of entries) await this.entry(event.id, status, message);
    dashboard.events.push(event.id);
    return event.id;
  }

  entry(event, status, message) {
    return this.send('POST', `/events/${event}/timeline`, { message, status, notify: false });
  }
}

const systems = [
  ['Public API', 'Core', 'REST and GraphQL, all regions'], ['Web console', 'Core', ''], ['Webhooks', 'Core', 'Outgoing calls'],
  ['Frankfurt', 'Regions', ''], ['Singapore', 'Regions', ''], ['Documentation', 'default', ''],
];

const affected = (dashboard, ...pairs) => pairs.map(([n, impact]) => ({ componentId: dashboard.components[n], impact }));

// trouble adds an incident of each impact, maintenance in progress and planned, and closed events with a post-mortem.
async function trouble(app, dashboard) {
  const impacts = ['degraded_performance', 'partial_outage', 'major_outage'];
  for (const [n, impact] of impacts.entries()) {
    await app.event(dashboard, {
      type: 'incident', title: `Errors of level ${n + 1}`, description: '<p>Some requests <b>fail</b>. See <a href="https://x.example/">the list</a>.</p>',
      startAt: at(-2 * hour + n * minute), affectedComponents: affected(dashboard, [n, impact]), initialTimelineMessage: 'We look into the reports.',
    }, [['identified', 'The cause is a full disk.\nWe replace the disk.'], ['update', '<ul><li>Half of the hosts work.</li><li>The rest follows.</li></ul>']]);
  }
  await app.event(dashboard, {
    type: 'maintenance', title: 'Exchange of routers', status: 'inprogress', scheduledStartAt: at(-hour), scheduledEndAt: at(hour),
    affectedComponents: affected(dashboard, [3, 'under_maintenance']), initialTimelineMessage: 'The first router is exchanged.',
  });
  await app.event(dashboard, {
    type: 'maintenance', title: 'Move of the database', scheduledStartAt: at(3 * day), scheduledEndAt: at(3 * day + hour),
    description: 'Writes pause for a minute.', affectedComponents: affected(dashboard, [4, 'under_maintenance'], [5, 'under_maintenance']),
  });
  const closed = await app.event(dashboard, {
    type: 'incident', title: 'Sign-in was not possible', status: 'resolved', startAt: at(-26 * hour), endAt: at(-24 * hour),
    affectedComponents: affected(dashboard, [0, 'major_outage'], [1, 'partial_outage']), initialTimelineMessage: 'All users can sign in again.',
  });
  await postMortem(app, closed, 'A certificate had expired.', 'Renew certificates earlier');
}

function postMortem(app, event, text, action) {
  return app.send('PUT', `/events/${event}/post-mortem`, {
    summary: text, rootCause: text, impact: text, resolution: text, lessonsLearned: text, published: true, notify: false,
    actionItems: [{ text: action, owner: 'Ops', dueDate: '2030-01-31', done: false }, { text: action, owner: null, dueDate: null, done: true }],
  });
}

// attack adds events with hostile texts in each field.
async function attack(app, dashboard) {
  for (const [n, title] of hostile.texts(255).entries()) {
    const common = {
      title, description: hostile.rich[n % hostile.rich.length], impactAnalysis: hostile.everything, coordinator: hostile.everything.slice(0, 1000),
      affectedComponents: affected(dashboard, [n % dashboard.components.length, 'partial_outage']), initialTimelineMessage: hostile.rich[(n + 1) % hostile.rich.length],
    };
    if (n % 3 === 0) {
      const closed = await app.event(dashboard, { ...common, type: 'incident', status: 'resolved', startAt: at(-30 * hour), endAt: at(-29 * hour) });
      await postMortem(app, closed, hostile.rich[n % hostile.rich.length], title);
    } else if (n % 3 === 1) {
      await app.event(dashboard, { ...common, type: 'incident', startAt: at(-hour) }, [['identified', hostile.everything]]);
    } else {
      await app.event(dashboard, { ...common, type: 'maintenance', scheduledStartAt: at(n * hour), scheduledEndAt: at((n + 1) * hour) });
    }
  }
}

// create creates and returns the dashboards. Each has the names of its pages.
async function create(credentials) {
  const app = new App(credentials);
  const all = [];
  const named = (locale) => ({ locale, timezone: 'Europe/Berlin', description: 'This page shows the state of our systems.' });
  all.push(await app.dashboard('Calm', 'calm', systems, named('en')));
  const links = {
    homepageUrl: 'https://x.example/', supportUrl: 'mailto:help@x.example',
    navigation: [{ text: 'Docs', href: 'https://docs.x.example/' }, { text: 'Blog', href: 'https://blog.x.example/' }],
  };
  const announcement = { announcement: '<p>The <b>data centre</b> moves in May. <a href="https://x.example/move">Read more</a></p>' };
  for (const [name, slug, settings] of [
    ['Troubled systems', 'troubled', { ...named('en'), links }], ['Störungen', 'german', named('de')], ['障害情報', 'japanese', named('ja')],
    ['Night shift', 'dark', { ...named('en'), branding: { logoUrl: 'https://img.example.com/logo.svg', faviconUrl: null, primaryColor: '#ff6600', theme: 'dark' } }],
    ['Live', 'live', named('en')],
  ]) {
    const dashboard = await app.dashboard(name, slug, systems, settings, announcement);
    await trouble(app, dashboard);
    all.push(dashboard);
  }
  const names = hostile.texts(50);
  const components = names.map((name, n) => [name, names[(n >> 1 << 1) % names.length], hostile.texts(250)[n]]);
  const attacked = await app.dashboard(hostile.texts(100).at(-1), 'hostile', components, hostile.settings, { announcement: hostile.everything });
  await attack(app, attacked);
  all.push(attacked);
  const secret = await app.dashboard('Private', 'private', systems, { access: { mode: 'password', password: 'correct horse' } });
  secret.password = 'correct horse';
  await trouble(app, secret);
  all.push(secret);
  for (const dashboard of all) dashboard.pages = pagesOf(dashboard);
  for (const [n, email] of ['ada@example.com', `${'w'.repeat(60)}@${`${'x'.repeat(60)}.`.repeat(3)}example`, 'מאיר@example.com'].entries()) {
    const componentIds = n ? attacked.components : null;
    await app.send('POST', '/subscribers/email', { dashboardId: n ? attacked.id : all[0].id, email, componentIds, confirmed: n !== 1, paused: n === 2, locked: n === 1 });
  }
  return { app, dashboards: Object.fromEntries(all.map((dashboard) => [dashboard.name, dashboard])) };
}

// pagesOf returns the paths of the pages by their names.
function pagesOf(dashboard) {
  const pages = {
    index: '', history: 'history', month: `history/${at(0).slice(0, 7)}`, subscribe: 'subscribe', sent: 'subscribe/sent', embed: 'embed', missing: 'nothing-here',
  };
  for (const [n, id] of dashboard.events.entries()) pages[`event-${n + 1}`] = `events/${id}`;
  for (const [n, id] of dashboard.components.entries()) pages[`component-${n + 1}`] = `components/${id}`;
  return pages;
}

module.exports = { App, create };
