/** Replication of databases that several processes write to, all of which are killed at any moment. */
import assert from 'node:assert/strict'
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import {
  assertOneMoment,
  DATABASE_FILES,
  endWriters,
  readNumbers,
  replicationOptions,
  restoreDatabases,
  startWriters,
} from '../support/replicated-folder.ts'

const ROUNDS = IS_LONG_RUN ? 200 : 3

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-replication-'))
})
afterEach(endWriters)
after(() => rm(scratch, { recursive: true, force: true }))

test(`kill -9 at any moment, ${ROUNDS} times: what was acknowledged before the last moment is there, without a hole`, async () => {
  const dataFolder = await mkdtemp(join(scratch, 'data-'))
  const [folder, restored] = [join(scratch, 'target'), join(scratch, 'restored')]
  const target = new FolderTarget(folder)
  const options = replicationOptions(dataFolder, `file://${folder}`, { fullMs: 3_000 })
  for (let round = 0; round < ROUNDS; round++) {
    const writers = startWriters(options)
    if (round === 0) await writers.logged('a base of the backup is stored')
    else await sleep(Math.random() * 2_500)
    await writers.kill()
    const time = await restoreDatabases(target, restored)
    const numbers = readNumbers(restored)
    assertOneMoment(numbers)
    const least = writers.acknowledged.findLast(([, at]) => at <= time)?.[0] ?? 0
    assert.ok(Math.min(...numbers) >= least, `round ${round}: ${numbers}, of ${least} until ${time}`)
  }
  const writers = startWriters(options)
  await writers.logged('a base of the backup is stored')
  await writers.stop()
  await restoreDatabases(target, restored)
  assert.equal((await readdir(folder)).length, 1, 'one generation was enough')
  for (const file of DATABASE_FILES) {
    const [one, other] = await Promise.all([readFile(join(dataFolder, file)), readFile(join(restored, file))])
    assert.deepEqual(differentPages(one, other), [], `${file} is equal, page by page`)
  }
})

function differentPages(one: Buffer, other: Buffer): number[] {
  const pages = Array.from({ length: Math.max(one.length, other.length) / 4096 }, (_, index) => index)
  const page = (bytes: Buffer, index: number) => bytes.subarray(4096 * index, 4096 * (index + 1))
  return pages.filter((index) => !page(one, index).equals(page(other, index))).map((index) => index + 1)
}
