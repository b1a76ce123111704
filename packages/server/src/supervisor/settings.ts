/** The settings as workers get them. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Config } from '../config/config.ts'
import { type LoadedConfig, parseTexts } from '../config/load.ts'

/** Maxima that protect the memory and the processors of a machine. Connections are handed out in turn, so that equal parts fit. */
const DIVIDED = [
  'queryConcurrency',
  'queryWaiting',
  'querySendQueueBytes',
  'liveStatements',
  'liveBytes',
  'streamReceiveQueueBytesPerNode',
  'streamSendQueueBytesPerNode',
  'streamMaxConnections',
] as const
/** One user gets at most one query slot less than there are. */
const LEAST_PART = 2

/**
 * The settings of one worker: its part of what the machine allows. Maxima of one user or address hold for each worker, because those
 * who lose their worker all come to the others.
 */
export function partOf(config: Config): Config {
  const parts = DIVIDED.map((name) => {
    const most = config[name]
    return [name, Math.max(Math.ceil(most / config.workers), Math.min(LEAST_PART, most))]
  })
  return { ...config, ...Object.fromEntries(parts) }
}

/** With a free port in the place of each 0: a worker that is started later must open the same one. */
export async function withPorts(settings: LoadedConfig): Promise<LoadedConfig> {
  const { host, port, metricsHost, metricsPort } = settings.config
  const texts = {
    ...settings.texts,
    ...(port === 0 && { port: await freePort(host) }),
    ...(metricsPort === 0 && { metricsPort: await freePort(metricsHost) }),
  }
  return { ...settings, texts, config: parseTexts(texts) }
}

async function freePort(host: string): Promise<string> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(port)
}
