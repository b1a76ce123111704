/** Kills at any moment, as in kill.test.ts, with servers of the API of S3 that others wrote: moto and versitygw. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, afterEach, before, test } from 'node:test'
import { CredentialSource } from '../../packages/server/src/replication/target/credentials.ts'
import { parseBucketUrl, S3Target } from '../../packages/server/src/replication/target/s3.ts'
import { IN_LONG_RUNS } from '../support/engines.ts'
import { describeRounds, killRounds } from '../support/kill-rounds.ts'
import { endWriters } from '../support/replicated-folder.ts'
import { S3_CREDENTIALS, S3_SERVERS } from '../support/s3-servers.ts'

const ROUNDS = 60

let scratch: string
before(async () => {
  scratch = await mkdtemp(join(tmpdir(), 'gatehouse-replication-'))
})
afterEach(endWriters)
after(() => rm(scratch, { recursive: true, force: true }))

for (const [name, find] of S3_SERVERS)
  test(`${name}: kill -9 at any moment, ${ROUNDS} times`, IN_LONG_RUNS, async (t) => {
    const found = await find()
    if (typeof found === 'string') return t.skip(found)
    const server = await found.start()
    t.after(() => server.close())
    const target = new S3Target(parseBucketUrl(server.url, {}), new CredentialSource(S3_CREDENTIALS))
    const { url } = server
    t.diagnostic(describeRounds(await killRounds({ scratch, url, target, rounds: ROUNDS, env: S3_CREDENTIALS })))
    target.close()
  })
