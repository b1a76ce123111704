/** Bodies of the administration of hostile shapes: each is refused or taken, and none holds the event loop. */
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { openPlace } from '../support/engines.ts'

/** Time of this thread, which serves and asks: unlike the time on the clock, it does not depend on what else runs. */
const HELD_AT_MOST_MS = 100
const SIZE = 64 * 1024 - 200

const many = (item: (index: number) => string, separator = ','): string => {
  let text = item(0)
  for (let index = 1; text.length < SIZE; index++) text += separator + item(index)
  return text
}
const nested = (open: string, close: string): string => open.repeat(SIZE / 2 - 100) + close.repeat(SIZE / 2 - 100)

const SHAPES: Readonly<Record<string, string>> = {
  'nested arrays': nested('[', ']'),
  'arrays nested in a key': `{"client_id":"c","jwks":{"keys":[{"kty":"RSA","x":${nested('[', ']')}}]}}`,
  'nested objects': `${'{"a":'.repeat(SIZE / 7)}1${'}'.repeat(SIZE / 7)}`,
  'many unknown members': `{${many((index) => `"clint_i${index}":1`)}}`,
  'many unknown members of the longest names': `{${many((index) => `"${`token_endpoint_auth_metho${index}`.padEnd(60, 'd')}":1`)}}`,
  'one very long name': `{"${'a'.repeat(SIZE)}":1}`,
  'a list of wrong types': `{"client_id":"c","redirect_uris":[${many(() => '1')}]}`,
  'a list of empty objects': `{"client_id":"c","contacts":[${many(() => '{}')}]}`,
  'a list of equal texts': `{"client_id":"c","redirect_uris":[${many(() => '"a"')}]}`,
  'a list of different URIs': `{"client_id":"c","redirect_uris":[${many((index) => `"https://${index}.x"`)}]}`,
  'a list of grant types': `{"client_id":"c","grant_types":[${many(() => '"impl"')}]}`,
  'many scopes': `{"client_id":"c","scope":"${'a '.repeat(2040)}a"}`,
  'many unknown roles': `{"username":"u","password":"a long password","roles":[${many((index) => `"role-${index}"`)}]}`,
  'many keys': `{"client_id":"c","jwks":{"keys":[${many(() => '{"kty":""}')}]}}`,
  'a number of many digits': `{"client_id":"c","default_max_age":${'9'.repeat(SIZE)}}`,
  'many escapes': `{"client_id":"c","client_name":"${'\\u0041'.repeat(SIZE / 6)}"}`,
}

describe('bodies of hostile shapes', () => {
  let admin: TestAdmin
  let leave: () => Promise<void>
  before(async () => {
    const opened = await openPlace('sqlite')
    leave = opened.leave
    admin = await startTestAdmin(opened.place)
    const { status } = await admin.call('GET', '/admin/clients')
    assert.equal(status, 200)
    // The schema library is loaded by the first body.
    await admin.call('POST', '/admin/clients', { body: {} })
  })
  after(async () => {
    await admin.stop()
    await leave()
  })

  for (const [name, body] of Object.entries(SHAPES))
    test(`${name}: answered with 4xx, and the event loop is free again within 100 ms`, async () => {
      for (const path of ['/admin/clients', '/admin/users', '/admin/roles']) {
        const held = await leastHeld(path, body)
        assert.ok(held < HELD_AT_MOST_MS, `${path} held the event loop for ${held.toFixed()} ms`)
      }
    })

  /** A body that is expensive is so each time; the compiler and the garbage collector work in this thread too, now and then. */
  async function leastHeld(path: string, body: string): Promise<number> {
    let least = Number.POSITIVE_INFINITY
    for (let tries = 0; tries < 4 && least >= HELD_AT_MOST_MS; tries++) {
      const before = process.threadCpuUsage()
      const { status, text } = await admin.call('POST', path, { body })
      const { user, system } = process.threadCpuUsage(before)
      assert.ok(status >= 400 && status < 500, `${path}: ${status} ${text.slice(0, 200)}`)
      least = Math.min(least, (user + system) / 1000)
    }
    return least
  }
})
