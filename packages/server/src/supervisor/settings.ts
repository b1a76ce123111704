/** The settings that workers get. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Config } from '../config/config.ts'
import { type LoadedConfig, parseTexts } from '../config/load.ts'
import { effectiveWireHost } from '../config/wire.ts'

/** Maxima that protect the memory and the processors of a machine. Each worker gets an equal part, as it gets an equal part of the connections. */
const DIVIDED = [
  'queryConcurrency',
  'queryWaiting',
  'maxArrivingBytes',
  'querySendQueueBytes',
  'liveStatements',
  'liveBytes',
  'streamReceiveQueueBytesPerNode',
  'streamSendQueueBytesPerNode',
  'streamMaxConnections',
  'wireConnections',
] as const
/** With one query slot, a user could have none: a user never gets the last one. */
const LEAST_PART = 2

/**
 * The settings of one worker: its part of what the machine allows. Maxima for one user or address are not divided: when a worker
 * ends, all its clients reconnect to the others.
 */
export function workerPart(config: Config): Config {
  const parts = DIVIDED.map((name) => {
    const most = config[name]
    return [name, Math.max(Math.ceil(most / config.workers), Math.min(LEAST_PART, most))]
  })
  return { ...config, ...Object.fromEntries(parts) }
}

/** Replaces port 0 by a free port: workers that start later must open the same port. */
export async function withPorts(settings: LoadedConfig): Promise<LoadedConfig> {
  const { host, port, metricsHost, metricsPort, wirePort } = settings.config
  const texts = {
    ...settings.texts,
    ...(port === 0 && { port: await freePort(host) }),
    ...(metricsPort === 0 && { metricsPort: await freePort(metricsHost) }),
    ...(wirePort === 0 && { wirePort: await freePort(effectiveWireHost(settings.config)) }),
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
