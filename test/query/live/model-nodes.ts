/** The nodes that the model of live queries runs on: one on SQLite, two on PostgreSQL. */
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DeriveKey } from '../../../packages/server/src/query/live/position.ts'
import { findMasterKey } from '../../../packages/server/src/store/keys/master-key.ts'
import { ADMIN, signIn } from '../../support/demo-user.ts'
import type { TestPlace } from '../../support/engines.ts'
import { startTestServer, type TestServer } from '../../support/server.ts'

export interface ModelNodes {
  readonly nodes: readonly TestServer[]
  readonly tokens: { readonly admin: string; readonly alice: string }
  readonly deriveKey: DeriveKey
  /** Stops all nodes and starts them again. */
  restart(): Promise<readonly TestServer[]>
  stop(): Promise<void>
}

export async function startNodes(place: TestPlace): Promise<ModelNodes> {
  const folders = [place.dataFolder]
  if (place.databaseUrl !== '') folders.push(await mkdtemp(join(tmpdir(), 'gatehouse-node-')))
  const masterKey = randomBytes(32)
  const deriveKey = findMasterKey(place.dataFolder, masterKey)?.derive
  if (deriveKey === undefined) throw new Error('There is no master key')
  const flags = {
    '--demo': 'true',
    '--stream-drain-time': '0',
    '--master-key': masterKey.toString('base64'),
    '--issuer': 'http://localhost:5998',
    '--access-token-lifetime': '86400',
  }
  const start = async (): Promise<TestServer[]> => {
    const started: TestServer[] = []
    for (const dataFolder of folders) started.push(await startTestServer({ ...place, dataFolder }, { flags }))
    return started
  }
  let nodes = await start()
  const [first] = nodes
  if (first === undefined) throw new Error('No node was started')
  const tokens = { admin: (await signIn(first, ADMIN)).access_token, alice: (await signIn(first)).access_token }
  return {
    get nodes() {
      return nodes
    },
    tokens,
    deriveKey,
    async restart() {
      await Promise.all(nodes.map((node) => node.stop()))
      nodes = await start()
      return nodes
    },
    async stop() {
      await Promise.all(nodes.map((node) => node.stop()))
      for (const folder of folders.slice(1)) await rm(folder, { recursive: true })
    },
  }
}
