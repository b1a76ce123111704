/** Turns: order under one name, none between names, and nothing left behind. */
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Turns } from '../../src/identity/turns.ts'

test('under one name each waits for the one before, even if that failed; other names do not wait', async () => {
  const turns = new Turns()
  const seen: string[] = []
  const work = (what: string, milliseconds: number) => async () => {
    seen.push(`${what} begins`)
    await pause(milliseconds)
    seen.push(`${what} ends`)
    if (what === 'first') throw new Error('it failed')
    return what
  }
  const first = turns.take('code', work('first', 40))
  const second = turns.take('code', work('second', 0))
  const other = turns.take('another code', work('other', 0))
  await assert.rejects(first, /it failed/)
  assert.deepEqual([await second, await other], ['second', 'other'])
  assert.deepEqual(seen, ['first begins', 'other begins', 'other ends', 'first ends', 'second begins', 'second ends'])
  assert.equal(turns.size, 0)
})
