/** Acknowledged writes survive SIGKILL at any moment. */
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Acknowledged } from '../support/acknowledging-writer.ts'
import { IS_LONG_RUN, onEveryEngine, type TestPlace } from '../support/engines.ts'
import { type OpenStores, openStores } from '../support/stores.ts'

const WRITER = fileURLToPath(new URL('../support/acknowledging-writer.ts', import.meta.url))
const TIMES = IS_LONG_RUN ? 8 : 2

onEveryEngine('kill -9', (place) => {
  test(`during writes, ${TIMES} times: no acknowledged write is lost, and nothing spent can be spent again`, async () => {
    const all: Acknowledged[] = []
    for (let time = 0; time < TIMES; time++) all.push(...(await writeUntilKilled(place(), 300 + 137 * time)))
    for (const what of ['user', 'rotated', 'revoked'] as const) {
      assert.ok(
        all.some((item) => item.what === what),
        `no write of the kind ${what} was acknowledged in time`,
      )
    }
    const open = await openStores(place())
    const lost: Acknowledged[] = []
    for (const item of all) if (!(await isThere(item, open))) lost.push(item)
    assert.deepEqual(lost, [])
    await open.close()
  })
})

async function writeUntilKilled({ dataFolder, databaseUrl }: TestPlace, afterMs: number): Promise<Acknowledged[]> {
  const writer = spawn(process.execPath, [WRITER, dataFolder, databaseUrl], { stdio: ['ignore', 'pipe', 'inherit'] })
  let output = ''
  writer.stdout.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  await new Promise((resolve) => writer.stdout.once('data', resolve))
  await sleep(afterMs)
  const closed = new Promise((resolve) => writer.once('close', resolve))
  writer.kill('SIGKILL')
  await closed
  // The last line may be incomplete, and so not acknowledged.
  return output
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line))
}

async function isThere(item: Acknowledged, { stores }: OpenStores): Promise<boolean> {
  switch (item.what) {
    case 'user':
      return (await stores.users.findById(item.id))?.roles.includes('r') === true
    case 'client':
      return (await stores.clients.find(item.id)) !== undefined
    case 'grant':
      return (await stores.grants.find(item.id)) !== undefined
    case 'revoked':
      return (await stores.grants.find(item.id))?.revokedAt !== undefined
    case 'event':
      return (await stores.events.since(item.seq - 1))[0]?.seq === item.seq
    case 'spent code':
      return (await stores.codes.spend(item.secret))?.outcome === 'reused'
    case 'redeemed device':
      return (await stores.deviceCodes.redeem(item.secret)) === undefined
    case 'refresh token':
      return (await stores.refreshTokens.find(item.secret)) !== undefined
    case 'rotated': {
      const [from, to] = [await stores.refreshTokens.find(item.from), await stores.refreshTokens.find(item.to)]
      return from !== undefined && to !== undefined && (await stores.refreshTokens.isSpent(from))
    }
  }
}
