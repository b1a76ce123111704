/** A bucket that is away for minutes while rows are inserted: how late they are, what waits, how soon it is sent, and what is lost. */
import { execFile } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import Sqlite from 'better-sqlite3'
import { type ReplicationStatus, readStatus } from '../packages/server/src/replication/spool/status.ts'
import { startS3 } from '../test/support/s3-server.ts'
import type { Checkout } from './support/checkout.ts'
import type { Figures, Measurement } from './support/compare.ts'
import { load } from './support/http-load.ts'
import { paced, percentiles } from './support/percentiles.ts'
import { temporaryFolder } from './support/program.ts'
import { ROWS, startGatehouse } from './support/query-peers.ts'

const OUTAGE_S = Number(process.env.BENCH_OUTAGE_SECONDS ?? 600)
const INSERTS_A_SECOND = 50
const BEFORE_MS = 10_000
const KEY = Buffer.alloc(32, 1).toString('base64')

export const replicationOutage: Measurement = {
  name: 'replication-outage',
  about: `${INSERTS_A_SECOND} inserts a second while the bucket is away for ${OUTAGE_S} s (BENCH_OUTAGE_SECONDS); run it with --rounds 1`,
  columns: { before: 'p99 ms', during: 'p99 ms', spool: 'MiB', sent: 's after', lost: 'rows' },
  targets: { lost: { most: 0 }, sent: { most: 60 } },
  subject: async (checkout) => ({ name: 'gatehouse', measure: () => measure(checkout) }),
  async *references() {},
}

async function measure(checkout: Checkout): Promise<Figures> {
  const s3 = await startS3()
  Object.assign(process.env, {
    AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
    AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
  })
  const folder = await temporaryFolder()
  const data = `${folder.path}/data`
  const flags = { '--data': data, '--backup-url': s3.url, '--backup-key': KEY }
  const peer = await startGatehouse(checkout, {}, '', flags)
  try {
    await waitFor(data, ({ base }) => base !== undefined)
    let id = ROWS
    const insert = async (milliseconds: number): Promise<number> => {
      const times: number[] = []
      await paced(INSERTS_A_SECOND, milliseconds, async () => {
        const begun = performance.now()
        const requests = [peer.insert(id++)]
        await load(peer.port, [{ next: () => requests.pop() }], 60_000)
        times.push(performance.now() - begun)
      })
      return percentiles(times).p99
    }
    const before = await insert(BEFORE_MS)
    s3.answer = () => 'away'
    const during = await insert(OUTAGE_S * 1000)
    const spool = (readStatus(data)?.spoolBytes ?? 0) / 2 ** 20
    s3.answer = () => undefined
    const back = performance.now()
    const stored = Date.now()
    await waitFor(data, ({ moment = 0 }) => moment > stored)
    const sent = (performance.now() - back) / 1000
    await peer.stop()
    return {
      before,
      during,
      spool,
      sent,
      lost: id - (await countRestored(checkout, s3.url, `${folder.path}/restored`)),
    }
  } finally {
    await folder.remove()
    await s3.close()
  }
}

async function waitFor(data: string, isReached: (status: ReplicationStatus) => boolean): Promise<void> {
  for (;;) {
    const status = readStatus(data)
    if (status !== undefined && isReached(status)) return
    await sleep(50)
  }
}

/** The bucket is in this process, which must answer meanwhile. */
async function countRestored(checkout: Checkout, url: string, folder: string): Promise<number> {
  await promisify(execFile)(`${checkout.root}/gatehouse`, ['restore', url, '--data', folder, '--backup-key', KEY])
  const database = new Sqlite(`${folder}/query.db`, { readonly: true })
  try {
    return Number(database.prepare('select count(*) from trades2').pluck().get())
  } finally {
    database.close()
  }
}
