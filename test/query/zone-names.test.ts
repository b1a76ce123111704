/** Names of time zones that no zone has: what the refusal advises, and that finding the advice is quick. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ZONE_NAMES } from '../../packages/server/src/query/zones/zone-file.ts'

test('a misspelled zone, and a place, lead to the zone', () => {
  assert.match(ZONE_NAMES.hint('Americ/NewYork'), /America\/New_York/)
  assert.match(ZONE_NAMES.hint('New York'), /America\/New_York/)
  assert.match(ZONE_NAMES.hint('Yew York'), /America\/New_York/)
})

test('a name near none is refused without blocking the event loop, however it is chosen', () => {
  const names = ['x'.repeat(16), 'Ab '.repeat(6), 'Zzzzzzzzzz/Qqqqqqqqqqqq', 'q/'.repeat(20)]
  for (const name of names) ZONE_NAMES.hint(name)
  const before = process.cpuUsage()
  for (const name of names) ZONE_NAMES.hint(name)
  const { user, system } = process.cpuUsage(before)
  // One comparison with all names takes a few milliseconds; one for each of 600 names took a second.
  assert.ok(user + system < 200_000, `${user + system} µs`)
})
