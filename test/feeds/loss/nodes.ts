/** The server processes of a loss test: started on one database, killed and started again. */
import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { WebSocket } from 'ws'
import { ALICE, bearer, signIn } from '../../support/demo-user.ts'
import { type RunningProcess, serveProcess } from '../../support/process.ts'

const FEEDS = `feeds:
  - { name: Orders, keep: all, read: identity, write: Platform/Trading, topics: 1000, history: { messages: 100000, time: 1 hour } }
  - { name: Quotes, keep: latest, read: identity, write: Platform/Trading, topics: 1000, history: { messages: 100000, time: 1 hour } }
  - { name: Prices, keep: latest, read: identity, write: Platform/Trading, topics: 1000 }
`

export interface NodesOptions {
  readonly folder: string
  readonly count: number
  readonly flags: readonly string[]
}

export class Nodes {
  readonly #options: NodesOptions
  readonly #secret = randomBytes(32).toString('base64')
  #running: (RunningProcess | undefined)[] = []
  #next = 0
  token = ''
  /** Between two messages of a publisher. */
  readonly pauseMs = 150
  /** What must not happen, whatever fails. */
  readonly faults: string[] = []

  static async start(options: NodesOptions): Promise<Nodes> {
    const nodes = new Nodes(options)
    await writeFile(join(options.folder, 'feeds.yaml'), FEEDS)
    for (let index = 0; index < options.count; index++) await nodes.start(index)
    nodes.token = (await signIn({ port: nodes.port() }, ALICE)).access_token
    return nodes
  }

  private constructor(options: NodesOptions) {
    this.#options = options
  }

  /** Of one that runs, each in turn; one that nobody listens on where none does. */
  port(): number {
    const running = this.#running.filter((node) => node !== undefined)
    return running[this.#next++ % Math.max(1, running.length)]?.port ?? 1
  }

  socket(): WebSocket {
    const url = `ws://127.0.0.1:${this.port()}/Platform?version=1.1`
    return new WebSocket(url, ['PlatformJson'], { perMessageDeflate: false, ...bearer(this.token) })
  }

  async start(index: number): Promise<void> {
    const { folder, flags } = this.#options
    this.#running[index] = await serveProcess(
      [
        ...['--demo', '--data', join(folder, String(index)), '--config', join(folder, 'feeds.yaml')],
        ...['--issuer', 'http://localhost:5998', '--stream-drain-time', '0.1', '--stream-max-subscriptions', '100'],
        ...['--stream-max-connections-per-user', '1000', '--stream-max-sessions-per-user', '1000'],
        ...['--access-token-lifetime', '3600', ...flags],
      ],
      { environment: { GATEHOUSE_MASTER_KEY: this.#secret }, detached: true },
    )
  }

  /** The node with all its processes, or one of its workers, which the node starts again itself. */
  async kill(index: number, what: 'node' | 'worker' = 'node'): Promise<void> {
    const node = this.#running[index]
    if (node?.child.pid === undefined) throw new Error('The node does not run')
    if (what === 'worker') {
      const [worker] = await listChildren(node.child.pid)
      if (worker !== undefined) process.kill(worker, 'SIGKILL')
      return
    }
    this.#running[index] = undefined
    // It leads a process group, and a host that fails takes all processes with it.
    process.kill(-node.child.pid, 'SIGKILL')
    await node.ended
  }

  async stop(): Promise<void> {
    for (const [index, node] of this.#running.entries()) if (node !== undefined) await this.kill(index)
  }

  output(): string {
    return this.#running.map((node) => node?.output().stdout.slice(-3000) ?? '').join('\n')
  }
}

async function listChildren(pid: number): Promise<number[]> {
  const listed = await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return listed
    .split(' ')
    .filter((text) => text !== '')
    .map(Number)
}
