// What checks.py is for the Python client programs: the platform's credentials, and running a
// program's checks one by one, each with its line of result.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');

// Clients wait for an answer for ever; a program does not.
setTimeout(() => process.exit(124), 300_000).unref();

const credentials = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

// pk is the id of an object, which the interface tells in its resource_uri alone.
function pk(row) {
  return Number(row.resource_uri.split('/').at(-2));
}

async function run(client, checks) {
  for (const [name, check] of Object.entries(checks)) {
    try {
      await check();
      console.log(`ok ${client}: ${name}`);
    } catch (error) {
      process.exitCode = 1;
      console.log(`not ok ${client}: ${name}\n${error.stack ?? error}`);
    }
  }
}

module.exports = { assert, credentials, pk, run };
