// Like checks.py for Python: provides the platform's credentials to the client programs, runs the checks of a program one
// after the other, and prints a line with the result of each.
'use strict';

const assert = require('node:assert/strict');
const fs = require('node:fs');

// Clients wait for a response without a time limit. The program ends them.
setTimeout(() => process.exit(124), 300_000).unref();

const credentials = JSON.parse(fs.readFileSync(process.argv[2], 'utf8'));

// pk returns the id of an object, which only its resource_uri contains.
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
