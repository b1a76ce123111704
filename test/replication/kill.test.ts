/** Replication of databases that several processes write to, all of which are killed at any moment. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { FolderTarget } from '../../packages/server/src/replication/target/folder.ts'
import { IS_LONG_RUN } from '../support/engines.ts'
import { describeRounds, killRounds } from '../support/kill-rounds.ts'
import { endWriters } from '../support/replicated-folder.ts'

/** With those of kill-s3.test.ts there are 200. */
const ROUNDS = IS_LONG_RUN ? 80 : 3

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-replication-'))
})
afterEach(endWriters)
after(() => rm(scratch, { recursive: true, force: true }))

test(`kill -9 at any moment, ${ROUNDS} times: what was acknowledged before the last moment is there, without a hole`, async (t) => {
  const folder = join(scratch, 'target')
  const target = new FolderTarget(folder)
  t.diagnostic(describeRounds(await killRounds({ scratch, url: `file://${folder}`, target, rounds: ROUNDS })))
})
