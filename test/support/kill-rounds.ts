/** Kills everything that writes and replicates, at random moments, and restores after each: the rounds of the tests of replication. */
import assert from 'node:assert/strict'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Target } from '../../packages/server/src/replication/target/target.ts'
import {
  assertOneMoment,
  DATABASE_FILES,
  readNumbers,
  replicationOptions,
  restoreDatabases,
  startWriters,
  type Writers,
} from './replicated-folder.ts'

export interface KillRounds {
  readonly scratch: string
  readonly url: string
  readonly target: Target
  readonly rounds: number
  readonly env?: Record<string, string>
}

export interface KillResult {
  /** Of each round in which writers were replicated, in order of size: how old the oldest acknowledged number was that is lost. */
  readonly lostMs: readonly number[]
  readonly acknowledged: number
}

const EVERY_MS = 100
/** After this number of rounds everything is stopped in order, and compared page by page. */
const COMPARED_EVERY = 25
/** Of a machine that has more to do; the figures say what is usual. */
const MOST_LOST_MS = 30_000

/**
 * Each round: a random time, the whole group of processes dead at once, a restore. What was acknowledged before the moment of the restore
 * is in it, numbers have no hole, and all databases are of one moment. In the end there is one generation.
 */
export async function killRounds({ scratch, url, target, rounds, env = {} }: KillRounds): Promise<KillResult> {
  const dataFolder = await mkdtemp(join(scratch, 'data-'))
  const restored = join(scratch, 'restored')
  const options = replicationOptions(dataFolder, url, { everyMs: EVERY_MS, fullMs: 3_000 })
  const lostMs: number[] = []
  let acknowledged = 0
  for (let round = 0; round < rounds; round++) {
    const writers = startWriters(options, { env })
    if (round === 0) await writers.logged('a base of the backup is stored')
    else await sleep(Math.random() * 2_500)
    // In some rounds the replicating process dies before the others, and is started again.
    if (round % 5 === 4) {
      writers.killReplicator()
      await sleep(Math.random() * 2_500)
    }
    const killedAt = Date.now()
    await writers.kill()
    acknowledged += writers.acknowledged.length
    const time = await restoreDatabases(target, restored)
    lostMs.push(checkRound(round, time, killedAt, restored, writers))
    if ((round + 1) % COMPARED_EVERY === 0) await compare(options, target, restored, env)
  }
  await compare(options, target, restored, env)
  assert.equal((await target.folders()).length, 1, 'one generation was enough')
  await rm(dataFolder, { recursive: true })
  return { lostMs: lostMs.toSorted((one, other) => one - other), acknowledged }
}

export function describeRounds({ lostMs, acknowledged }: KillResult): string {
  const at = (part: number): number => Math.round(lostMs[Math.floor((lostMs.length - 1) * part)] ?? 0)
  return `${lostMs.length} kills, ${acknowledged} writes; the oldest that is lost: median ${at(0.5)} ms, 95 % ${at(0.95)} ms, most ${at(1)} ms`
}

function checkRound(round: number, time: number, killedAt: number, restored: string, writers: Writers): number {
  const numbers = readNumbers(restored)
  assertOneMoment(numbers)
  const last = Math.min(...numbers)
  // What was acknowledged within the millisecond of the moment may have been committed after it.
  const least = writers.acknowledged.findLast(([, at]) => at < time)?.[0] ?? 0
  assert.ok(last >= least, `round ${round}: ${numbers}, of ${least} until ${time}`)
  const oldest = writers.acknowledged.find(([number]) => number > last)
  const lost = oldest === undefined ? 0 : killedAt - oldest[1]
  assert.ok(lost < MOST_LOST_MS, `round ${round}: lost what was acknowledged ${lost} ms before`)
  return lost
}

/** After an orderly stop. */
async function compare(
  options: Parameters<typeof startWriters>[0],
  target: Target,
  restored: string,
  env: Record<string, string>,
): Promise<void> {
  const writers = startWriters(options, { env })
  await writers.logged('a base of the backup is stored')
  await writers.stop()
  await restoreDatabases(target, restored)
  for (const file of DATABASE_FILES) {
    const [one, other] = await Promise.all([readFile(join(options.dataFolder, file)), readFile(join(restored, file))])
    assert.deepEqual(differentPages(one, other), [], `${file} is equal, page by page`)
  }
}

function differentPages(one: Buffer, other: Buffer): number[] {
  const pages = Array.from({ length: Math.max(one.length, other.length) / 4096 }, (_, index) => index)
  const page = (bytes: Buffer, index: number) => bytes.subarray(4096 * index, 4096 * (index + 1))
  return pages.filter((index) => !page(one, index).equals(page(other, index))).map((index) => index + 1)
}
