/** The settings as workers get them. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { type LoadedConfig, parseTexts } from '../config/load.ts'

/** With other texts for some settings. */
export function withTexts(settings: LoadedConfig, changed: Partial<LoadedConfig['texts']>): LoadedConfig {
  const texts = { ...settings.texts, ...changed }
  return { sources: settings.sources, texts, config: parseTexts(texts) }
}

/** With a free port in the place of each 0: a worker that is started later must open the same one. */
export async function withPorts(settings: LoadedConfig): Promise<LoadedConfig> {
  const { host, port, metricsHost, metricsPort } = settings.config
  return withTexts(settings, {
    ...(port === 0 && { port: await freePort(host) }),
    ...(metricsPort === 0 && { metricsPort: await freePort(metricsHost) }),
  })
}

async function freePort(host: string): Promise<string> {
  const server = createServer().listen(0, host)
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return String(port)
}
