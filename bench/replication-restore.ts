/** How long a restore takes: a gigabyte with a day of segments, from a folder. */
import { spawnSync } from 'node:child_process'
import { rmSync } from 'node:fs'
import type { Checkout } from './support/checkout.ts'
import type { Contender, Measurement } from './support/compare.ts'
import { temporaryFolder } from './support/program.ts'
import { replicateDay } from './support/replicated-day.ts'

const MEBIBYTES = Number(process.env.BENCH_REPLICATED_MIB ?? 1024)

export const replicationRestore: Measurement = {
  name: 'replication-restore',
  about: `a restore of ${MEBIBYTES} MiB (BENCH_REPLICATED_MIB) with a day of segments; it takes 6 minutes to make them`,
  columns: { took: 's', segments: 'objects', size: 'MiB' },
  targets: { took: { most: 60 }, segments: { most: 200 } },
  subject: start,
  async *references() {},
}

async function start(checkout: Checkout): Promise<Contender> {
  const folder = await temporaryFolder()
  const { copy, key } = await replicateDay(checkout, folder.path, MEBIBYTES)
  const restored = `${folder.path}/restored`
  return {
    name: 'gatehouse',
    async measure() {
      rmSync(restored, { recursive: true, force: true })
      const begun = performance.now()
      const words = ['restore', `file://${copy}`, '--data', restored, '--backup-key', key, '--json']
      const { status, stdout, stderr } = spawnSync(`${checkout.root}/gatehouse`, words, { encoding: 'utf8' })
      if (status !== 0) throw new Error(stderr)
      const { bytes, segments } = JSON.parse(stdout)
      return { took: (performance.now() - begun) / 1000, segments, size: bytes / 2 ** 20 }
    },
    close: folder.remove,
  }
}
