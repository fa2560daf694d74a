// rss-parser: a reader of RSS and Atom. The feeds are those of the sample in services/events/internal/site.
'use strict';

const Parser = require('rss-parser');
const { assert, credentials, run } = require('./checks.js');

const sample = (n) => `019d0000-0000-7000-8000-${String(n).padStart(12, '0')}`;
const newest = [23, 22, 21, 40, 50, 52, 53, 33, 32, 31, 55].map(sample);
const read = (path) => new Parser().parseURL(`${credentials.baseUrl}/${path}`);

async function check(path, id) {
  const feed = await read(path);
  assert.equal(feed.title, 'Acme & Söhne – Incidents and maintenance');
  assert.equal(feed.link, 'https://status.example.com/');
  assert.equal(feed.feedUrl, `https://status.example.com/${path}`);
  assert.deepEqual(feed.items.map(id), newest);
  const item = feed.items[1];
  assert.equal(item.title, 'Identified: Requests to the API fail');
  assert.equal(item.link, `https://status.example.com/events/${sample(20)}#${sample(22)}`);
  assert.equal(item.isoDate, '2026-03-29T10:30:00.000Z');
  assert.match(item.content, /^<p>It is the <a href="https:\/\/example\.com\/a\?b=c&amp;d"/);
  assert.equal(feed.items[0].contentSnippet, 'One part works again.\nThe rest follows.');
  assert.ok(feed.items[7].title.startsWith('Resolved: ]]><script>alert(1)</script> "quoted"'), feed.items[7].title);
  for (const { content } of feed.items) assert.doesNotMatch(content, /<script/i);
}

run('rss-parser', {
  RSS: () => check('feed.rss', (item) => item.guid),
  Atom: () => check('feed.atom', (item) => item.id.replace('urn:uuid:', '')),
  'the feed of a component': async () => {
    const feed = await read(`components/${sample(11)}/feed.rss`);
    assert.equal(feed.title, 'Acme & Söhne – API');
    assert.deepEqual(feed.items.map((item) => item.guid), newest.slice(0, 3));
    assert.deepEqual(feed.items[0].categories, ['API']);
  },
});
