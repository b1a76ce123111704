/** The wire on a free port with a session of the test, for tests of connections without statements. */
import type { TestContext } from 'node:test'
import type { GateEvent } from 'gatehouse-protocol'
import type { Bus } from '../../packages/server/src/events/bus.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { openPort } from '../../packages/server/src/wire/listener/port.ts'
import { readyForQuery } from '../../packages/server/src/wire/protocol/replies.ts'
import type { OpenSession, Session } from '../../packages/server/src/wire/session/contract.ts'
import { Wire, type WireSettings } from '../../packages/server/src/wire/wire.ts'
import { createLocalBus } from './local-bus.ts'
import { createTokenMint, type TokenMint } from './tokens.ts'

export interface TestWire {
  readonly wire: Wire
  readonly port: number
  readonly mint: TokenMint
  readonly bus: Bus
  readonly audited: readonly { readonly event: string; readonly details?: object | undefined }[]
  readonly log: readonly string[]
  readonly metrics: Metrics
  publish(event: GateEvent): Promise<void>
}

export interface TestWireOptions {
  readonly openSession?: OpenSession
  readonly loadSessions?: () => Promise<OpenSession>
  readonly settings?: Partial<WireSettings>
  readonly bus?: Bus
  readonly passCancelOn?: (processId: number, digest: string) => Promise<boolean>
  readonly passOwnCancelOn?: (processId: number, subject: string) => Promise<boolean>
}

export async function startWire(test: Pick<TestContext, 'after'>, options: TestWireOptions = {}): Promise<TestWire> {
  const bus = options.bus ?? createLocalBus()
  const mint = createTokenMint(Date.now)
  const audited: { event: string; details?: object | undefined }[] = []
  const log: string[] = []
  const metrics = new Metrics()
  const port = await openPort({ host: '127.0.0.1', port: 0, opening: 'now' })
  const wire = new Wire(
    {
      issuer: 'https://gate.test',
      authenticate: mint.authenticate,
      checkSecret: async () => ({ outcome: 'wrong', reason: 'no secrets here' }),
      findUsername: async () => undefined,
      loadSessions: options.loadSessions ?? (async () => options.openSession ?? readySession),
      certificate: undefined,
      bus,
      clock: Date.now,
      rateLimits: { countAddress: () => [] },
      audit: { record: (entry) => void audited.push(entry) },
      metrics,
      logger: createLogger({ level: 'debug', format: 'json', destination: { write: (line) => void log.push(line) } }),
      passCancelOn: options.passCancelOn ?? (async () => false),
      passOwnCancelOn: options.passOwnCancelOn ?? (async () => false),
      settings: {
        statementBytes: 65_536,
        bindBytes: 1_048_576,
        keptBytes: 16 * 1_048_576,
        connections: 200,
        idleMs: 3_600_000,
        exempt: [],
        ...options.settings,
      },
    },
    port,
  )
  wire.serve()
  test.after(() => wire.close())
  return { wire, port: wire.port, mint, bus, audited, log, metrics, publish: (event) => bus.publish(event) }
}

/** Answers Sync and every Query with ReadyForQuery. */
export const readySession: OpenSession = (_caller, output) => createSession(output, {})

export function createSession(output: Parameters<OpenSession>[1], parts: Partial<Session>): Session {
  return {
    isIdle: true,
    begin: () => void output.write(readyForQuery('I')),
    handle(message) {
      if (message.kind === 'terminate') output.close()
      if (message.kind === 'sync' || message.kind === 'query') output.write(readyForQuery('I'))
    },
    cancel() {},
    end() {},
    ...parts,
  }
}
