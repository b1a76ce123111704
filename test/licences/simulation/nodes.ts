/** Nodes of the simulation as processes, which are killed and started again, and lose their database for a while. */
import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ADMIN, ALICE, signIn } from '../../support/demo-user.ts'
import { type RunningProcess, serveProcess } from '../../support/process.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { clientToken, createSend, PROGRAMS } from '../licence-server.ts'
import { SIMULATED } from './declared.ts'
import type { SimulatedServer } from './simulation.ts'

const ISSUER = 'http://localhost:5997'

export interface SimulatedNodesOptions {
  readonly folder: string
  readonly count: number
  /** Undefined: SQLite. */
  readonly databaseUrl: string | undefined
}

interface Node {
  /** Its address stays, whatever port the process has. */
  readonly front: TcpProxy
  /** To its database. */
  readonly back: TcpProxy | undefined
  running: RunningProcess | undefined
}

export class SimulatedNodes {
  readonly #options: SimulatedNodesOptions
  readonly #secret = randomBytes(32).toString('base64')
  readonly #nodes: Node[] = []

  static async start(options: SimulatedNodesOptions): Promise<SimulatedNodes> {
    const nodes = new SimulatedNodes(options)
    await writeFile(join(options.folder, 'gatehouse.yaml'), SIMULATED + PROGRAMS)
    for (let index = 0; index < options.count; index++) {
      const url = options.databaseUrl === undefined ? undefined : new URL(options.databaseUrl)
      const back = url && (await startTcpProxy(url.hostname, Number(url.port)))
      nodes.#nodes.push({ front: await startTcpProxy('127.0.0.1', 1), back, running: undefined })
      await nodes.start(index, index === 0)
    }
    return nodes
  }

  private constructor(options: SimulatedNodesOptions) {
    this.#options = options
  }

  get count(): number {
    return this.#nodes.length
  }

  get issuer(): string {
    return ISSUER
  }

  /** `declares`: with the declared file, which would undo what the operator has changed since. */
  async start(index: number, declares = false): Promise<void> {
    const { folder, databaseUrl } = this.#options
    const node = this.#find(index)
    const url = databaseUrl === undefined ? undefined : new URL(databaseUrl)
    if (url !== undefined) {
      url.hostname = '127.0.0.1'
      url.port = String(node.back?.port)
    }
    const flags = [
      ...['--demo', '--data', join(folder, String(index))],
      ...(declares ? ['--config', join(folder, 'gatehouse.yaml')] : []),
      ...['--issuer', ISSUER, '--stream-drain-time', '0.1', '--access-token-lifetime', '3600'],
      ...['--stream-max-connections-per-user', '1000', '--stream-max-sessions-per-user', '1000'],
      ...['mcp', 'query', 'stream', 'feeds', 'admin'].flatMap((name) => [`--limit-${name}`, '']),
      ...(url === undefined ? [] : ['--database-url', url.href]),
    ]
    const environment = { GATEHOUSE_MASTER_KEY: this.#secret }
    node.running = await serveProcess(flags, { environment, detached: true })
    node.front.redirect(node.running.port)
  }

  /** All its processes. */
  async kill(index: number): Promise<void> {
    const node = this.#find(index)
    const { pid } = node.running?.child ?? {}
    if (pid === undefined) throw new Error('The node does not run')
    process.kill(-pid, 'SIGKILL')
    await node.running?.ended
    node.running = undefined
  }

  /** Its database answers nothing for so long. */
  async loseDatabase(index: number, milliseconds: number): Promise<void> {
    const { back } = this.#find(index)
    back?.hold()
    await sleep(milliseconds)
    back?.mend()
  }

  async servers(): Promise<readonly SimulatedServer[]> {
    const port = this.#find(0).front.port
    const url = `http://127.0.0.1:${port}`
    const [alice, admin] = [(await signIn({ port }, ALICE)).access_token, (await signIn({ port }, ADMIN)).access_token]
    const [handler, robot] = [await clientToken(url, 'handler'), await clientToken(url, 'robot')]
    return this.#nodes.map(({ front }) => {
      const url = `http://127.0.0.1:${front.port}`
      return { url, port: front.port, wirePort: undefined, alice, admin, handler, robot, send: createSend(url, alice) }
    })
  }

  output(): string {
    return this.#nodes.map(({ running }) => running?.output().stdout.slice(-3_000) ?? '').join('\n')
  }

  async stop(): Promise<void> {
    for (const [index, { running, back }] of this.#nodes.entries()) {
      back?.mend()
      if (running !== undefined) await this.kill(index)
    }
    for (const { front, back } of this.#nodes) {
      await front.close()
      await back?.close()
    }
  }

  #find(index: number): Node {
    const node = this.#nodes[index]
    if (node === undefined) throw new Error(`There is no node ${index}`)
    return node
  }
}
