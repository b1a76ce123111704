/** kill -9 during inserts: acknowledged rows survive, no call is half done, and a repeated key inserts once. */
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { IS_LONG_RUN, onEveryEngine, type TestPlace } from '../support/engines.ts'

const ROUNDS = Number(process.env.CRASH_ROUNDS ?? (IS_LONG_RUN ? 8 : 1))
const PROGRAM = fileURLToPath(new URL('./crash-server.ts', import.meta.url))

onEveryEngine('kill -9', (place) => {
  test(`${ROUNDS} rounds of inserts at full speed lose nothing that was acknowledged`, async () => {
    let server = await start(place())
    assert.equal(
      (
        await post(
          server.url,
          '/query',
          'CREATE TABLE log (id Integer PRIMARY KEY, pair Integer NOT NULL, t Text NOT NULL)',
        )
      ).status,
      200,
    )
    const acknowledged = new Set<number>()
    const unsure = new Map<number, string>()
    let next = 0
    for (let round = 0; round < ROUNDS; round++) {
      let isOver = false
      const writers = Array.from({ length: 16 }, async () => {
        while (!isOver) {
          next += 2
          const id = next
          // Two rows in one call: both or none.
          const body = JSON.stringify([
            { id, pair: id + 1, t: 'x'.repeat(200) },
            { id: id + 1, pair: id, t: 'y' },
          ])
          unsure.set(id, body)
          try {
            const reply = await post(server.url, '/query/log/insert', body, `key-${id}`)
            if (reply.status !== 200) continue
            acknowledged.add(id)
            unsure.delete(id)
          } catch {
            return
          }
        }
      })
      await sleep(150 + Math.random() * 300)
      server.process.kill('SIGKILL')
      await once(server.process, 'exit')
      isOver = true
      await Promise.all(writers)
      server = await start(place())
      // It is unknown whether these were written: with their keys they can be sent again.
      for (const [id, body] of unsure) {
        assert.equal((await post(server.url, '/query/log/insert', body, `key-${id}`)).status, 200)
        acknowledged.add(id)
      }
      unsure.clear()
    }
    const rows = JSON.parse(
      (await post(server.url, '/query?rows=arrays', 'SELECT id, pair FROM log ORDER BY id')).text,
    ).Rows
    const found = new Set<number>(rows.map(([id]: [number]) => id))
    assert.ok(acknowledged.size > ROUNDS * 5, `only ${acknowledged.size} inserts were made`)
    assert.deepEqual(
      [...acknowledged].filter((id) => !found.has(id)),
      [],
      'acknowledged and lost',
    )
    assert.deepEqual(
      rows.filter(([, pair]: [number, number]) => !found.has(pair)),
      [],
      'half a call',
    )
    assert.equal(found.size, rows.length)
    assert.equal(found.size, acknowledged.size * 2, 'no more rows than were sent')
    server.process.kill('SIGKILL')
  })
})

async function start({ dataFolder, databaseUrl }: TestPlace): Promise<{ url: string; process: ChildProcess }> {
  const child = spawn(process.execPath, [PROGRAM, dataFolder, databaseUrl], { stdio: ['ignore', 'pipe', 'inherit'] })
  const [line] = await once(child.stdout, 'data')
  return { url: String(line).trim(), process: child }
}

async function post(url: string, path: string, body: string, key?: string): Promise<{ status: number; text: string }> {
  const response = await fetch(`${url}${path}`, {
    method: 'POST',
    body,
    headers: {
      authorization: 'Bearer admin',
      'content-type': path.endsWith('/insert') ? 'application/json' : 'text/plain',
      ...(key === undefined ? {} : { 'idempotency-key': key }),
    },
  })
  return { status: response.status, text: await response.text() }
}
