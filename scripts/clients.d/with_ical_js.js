// ical.js: a parser of iCalendar. The calendar is that of the sample in services/events/internal/site.
'use strict';

const { assert, credentials, run } = require('./checks.js');

const sample = (n) => `019d0000-0000-7000-8000-${String(n).padStart(12, '0')}`;

async function events() {
  const { default: ICAL } = await import(require.resolve('ical.js'));
  const response = await fetch(`${credentials.baseUrl}/maintenance.ics`);
  assert.equal(response.status, 200);
  const calendar = new ICAL.Component(ICAL.parse(await response.text()));
  assert.equal(calendar.getFirstPropertyValue('x-wr-calname'), 'Acme & Söhne – Planned maintenance');
  return new Map(calendar.getAllSubcomponents('vevent').map((event) => [event.getFirstPropertyValue('uid'), new ICAL.Event(event)]));
}

run('ical.js', {
  maintenances: async () => {
    const found = await events();
    assert.deepEqual([...found.keys()], [50, 52, 53, 54, 60].map(sample));
    const planned = found.get(sample(50));
    assert.deepEqual([planned.summary, planned.sequence, planned.startDate.toString(), planned.endDate.toString()],
      ['Move of the mail servers, part 2; at night', 5, '2026-03-30T01:00:00Z', '2026-03-30T03:30:00Z']);
    assert.equal(planned.description, 'Planned\n\nAffected components: Mail\n\nMail may arrive late.\nNothing is lost.');
    assert.equal(found.get(sample(53)).summary, 'Größe日本🚢'.repeat(40));
    assert.equal(found.get(sample(54)).endDate.toString(), '2026-03-10T03:00:00Z');
  },
  'a withdrawn maintenance is cancelled': async () => {
    const { component } = (await events()).get(sample(60));
    assert.equal(component.getFirstPropertyValue('status'), 'CANCELLED');
  },
  'a hostile text adds no line': async () => {
    const event = (await events()).get(sample(52));
    assert.equal(event.component.getFirstProperty('x-evil'), null);
    assert.ok(event.description.includes('END:VEVENT\nX-EVIL:1\nBEGIN:VEVENT'), event.description);
  },
});
