/** A gateway on a free port, with a clock, a bus and tokens under the control of the test. */
import type { TestContext } from 'node:test'
import type { Audit, Authenticate, MonotonicClock } from 'gatehouse-protocol'
import { loadConfig } from '../../packages/server/src/config/load.ts'
import type { Bus } from '../../packages/server/src/events/bus.ts'
import type { RateLimits } from '../../packages/server/src/http/limits/rate-limits.ts'
import { openListener } from '../../packages/server/src/http/listener.ts'
import { Pipeline } from '../../packages/server/src/http/pipeline.ts'
import { connectionAddress } from '../../packages/server/src/http/request/request-head.ts'
import { startControllers } from '../../packages/server/src/streaming/controllers/start.ts'
import { Gateway } from '../../packages/server/src/streaming/gateway/gateway.ts'
import type { StreamSettings } from '../../packages/server/src/streaming/settings.ts'
import { streamRoutes } from '../../packages/server/src/streaming/streaming.ts'
import type { Controller } from '../../packages/server/src/streaming/topics/controller.ts'
import { createLogger } from '../../packages/server/src/telemetry/log.ts'
import { Metrics } from '../../packages/server/src/telemetry/metrics.ts'
import { createLocalBus } from './local-bus.ts'
import { createTestClock } from './server.ts'
import { createTokenMint, type TokenMint } from './tokens.ts'

export interface TestGateway {
  readonly gateway: Gateway
  readonly mint: TokenMint
  readonly bus: Bus
  readonly clock: ReturnType<typeof createTestClock>
  readonly port: number
  readonly log: readonly string[]
  stop(): Promise<void>
}

export interface TestGatewayOptions {
  readonly settings?: Partial<StreamSettings>
  readonly controllers?: readonly Controller[]
  readonly bus?: Bus
  /** For timeouts and rates; by default the clock that the test controls. */
  readonly monotonic?: MonotonicClock
  readonly authenticate?: Authenticate
  readonly audit?: Audit
  readonly rateLimits?: Pick<RateLimits, 'countAddress' | 'countCaller'>
  /** Which log lines to keep; by default all. Long runs need this to bound memory. */
  readonly keepsLine?: (line: string) => boolean
}

/** Stops with the test. The sweep runs every 5 ms of real time; the clock advances only when the test advances it. */
export async function startGateway(test: TestContext, options: TestGatewayOptions = {}): Promise<TestGateway> {
  const started = await openGateway(options)
  test.after(() => started.stop())
  return started
}

export async function openGateway(options: TestGatewayOptions = {}): Promise<TestGateway> {
  const clock = createTestClock(Date.UTC(2026, 10, 15, 0, 0, 0))
  const mint = createTokenMint(clock)
  const bus = options.bus ?? createLocalBus()
  const log: string[] = []
  const { keepsLine = () => true } = options
  const write = (line: string): void => void (keepsLine(line) && log.push(line))
  const logger = createLogger({ level: 'debug', format: 'json', destination: { write } })
  const defaults = loadConfig({ flags: { '--stream-sweep-interval': '0.005', '--stream-drain-time': '0.05' } }).config
  const gateway = new Gateway({
    authenticate: options.authenticate ?? mint.authenticate,
    bus,
    clock,
    monotonic: options.monotonic ?? clock,
    logger,
    // Most tests of long messages do not sign in.
    settings: { ...defaults, streamMaxAnonymousMessageBytes: defaults.streamMaxMessageBytes, ...options.settings },
    server: { Name: 'test', Class: 'Gatehouse', Version: '0.0.0' },
    controllers: startControllers(options.controllers ?? [], clock, (error) =>
      logger.error({ err: error }, 'not stopped'),
    ),
    ...(options.audit === undefined ? {} : { audit: options.audit }),
    ...(options.rateLimits === undefined ? {} : { rateLimits: options.rateLimits }),
  })
  const listener = await openListener({ host: '127.0.0.1', port: 0, tls: undefined })
  const groups = [streamRoutes(gateway, options.settings?.streamEcho ?? false)]
  const { rateLimits } = options
  listener.answerWith(
    new Pipeline({
      groups,
      logger,
      metrics: new Metrics(),
      readAddress: connectionAddress,
      ...(rateLimits === undefined ? {} : { rateLimits }),
    }),
  )
  return {
    gateway,
    mint,
    bus,
    clock,
    log,
    port: listener.port,
    async stop() {
      await gateway.drain()
      await listener.close(0)
    },
  }
}
