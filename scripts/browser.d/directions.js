// Opens the console with names that are written from right to left. The words around a name must stay in their order.
'use strict';

const { layout } = require('./page.js');
const { Visitor } = require('./visitor.js');

const names = {
  component: 'שירות התשלומים (ב)', other: 'قاعدة البيانات', group: 'ליבה', event: 'תקלה בתשלומים: 50%', dashboard: 'لوحة الحالة!', template: 'תקלה קבועה.', first: 'דנה', last: 'כהן',
};

// order returns the words of a line that are not where they would be without names from right to left.
function order(page) {
  return page.evaluate(() => {
    const found = [];
    const foreign = /[\u0590-\u08ff]/;
    const range = document.createRange();
    const lines = new Map(); // words of each block, in the order of the document
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
      const parent = node.parentElement;
      if (!parent.checkVisibility() || parent.closest('.vh, script, style, select, textarea, svg')) continue;
      let block = parent;
      while (getComputedStyle(block).display.startsWith('inline') && !/flex|grid|block/.test(getComputedStyle(block).display)) block = block.parentElement;
      const words = lines.get(block) ?? lines.set(block, []).get(block);
      const name = parent.closest('bdi, [dir=auto]');
      // A name between isolates is one word, and so is what <bdi> or dir=auto contain.
      for (const { 0: text, index } of node.data.matchAll(/\u2068[^\u2069]*\u2069|[^\s\u2068]+/g)) {
        range.setStart(node, index);
        range.setEnd(node, index + text.length);
        const rects = [...range.getClientRects()].filter((rect) => rect.width > 1);
        const last = words.at(-1);
        if (name && last?.name === name && foreign.test(name.textContent)) Object.assign(last, { text: `${last.text} ${text}`, rects: [...last.rects, ...rects] });
        else if (rects.length > 0) words.push({ text, rects, name });
      }
    }
    const onLine = (word, rect) => word.rects.filter((one) => Math.abs(one.top - rect.top) < 8);
    for (const words of lines.values()) {
      for (let n = 1; n < words.length; n++) {
        const [before, after] = [words[n - 1], words[n]];
        const line = onLine(before, after.rects[0]);
        if (line.length === 0 || !words.some((word) => foreign.test(word.text))) continue;
        const right = Math.max(...line.map((rect) => rect.right));
        const left = Math.min(...onLine(after, after.rects[0]).map((rect) => rect.left));
        if (right > left + 1) found.push(`“${before.text}” is not before “${after.text}” in: ${words.map((word) => word.text).join(' ').slice(0, 120)}`);
      }
    }
    const typed = [...document.querySelectorAll('input, textarea')].map((field) => field.value).join('');
    return [found, foreign.test(document.body.innerText + typed)];
  });
}

async function prepare(platform, member) {
  const { app, credentials } = platform;
  const add = async (name) => (await app.send('POST', '/components', { name, groupName: names.group })).component.id;
  const ids = [await add(names.component), await add(names.other)];
  const affectedComponents = ids.map((componentId) => ({ componentId, impact: 'partial_outage' }));
  const { event } = await app.send('POST', '/events', { type: 'incident', title: names.event, affectedComponents, notify: false, initialTimelineMessage: names.event });
  await app.send('POST', `/events/${event.id}/notes`, { note: names.event });
  await app.send('PATCH', `/dashboards/${credentials.dashboardId}`, { name: names.dashboard });
  await app.send('POST', '/templates', { kind: 'incident', name: names.template, title: names.event, status: 'identified', componentIds: ids });
  await app.send('POST', '/templates', { kind: 'update', name: names.template, status: 'monitoring', message: names.event });
  await member.visitor.go(`${member.home}profile`);
  await member.page.fill('#firstName', names.first);
  await member.page.fill('#lastName', names.last);
  await Promise.all([member.page.waitForNavigation(), member.page.click('main form:has(#lastName) .btn')]);
  const { users } = await app.send('GET', '/users');
  const [at, on] = [`events/${event.id}`, `components/${ids[0]}`];
  const entry = (await app.send('GET', `/events/${event.id}`)).event.timeline[0].statusId;
  const tabs = ['', '/content', '/components', '/access', '/domains', '/subscriptions', '/delete'].map((tab) => `dashboards/${credentials.dashboardId}${tab}`);
  return ['', 'events', at, `${at}?status=resolved`, `${at}/edit`, `${at}/delete`, `${at}/withdraw`, `${at}/timeline/${entry}`, 'events/new', `events/new?component=${ids[0]}`,
    `events?component=${ids[0]}`, 'templates', 'components', on, `${on}/delete`, ...tabs, 'users', `users/${users[0].userId}`, `users/${users[0].userId}/delete`, 'audit', 'profile'];
}

// all opens pages with such names on a phone and on a desk.
async function all(bench, platform, state) {
  const found = [];
  const member = { visitor: await Visitor.open(bench.browser, { storageState: state }), home: `${new URL(platform.link).origin}/console/` };
  member.page = member.visitor.page;
  for (const path of await prepare(platform, member)) {
    await member.visitor.go(member.home + path);
    for (const width of [360, 1280]) {
      await member.page.setViewportSize({ width, height: 800 });
      const [wrong, named] = await order(member.page);
      if (!named) wrong.push('the page shows none of the names');
      found.push(...[...wrong, ...await layout(member.page)].map((text) => `/${path} ${width}: ${text}`));
      await bench.shoot(member.page, `directions-${path.replaceAll(/[0-9a-f]{8}-[0-9a-f-]+/g, 'id').replaceAll(/\W+/g, '-')}-${width}`);
    }
  }
  found.push(...await member.visitor.findings());
  await member.visitor.close();
  return found;
}

module.exports = { all };
