/** `gatehouse health`: asks the server of these settings, on this machine, whether it is alive or ready. */
import http from 'node:http'
import https from 'node:https'
import { text } from 'node:stream/consumers'
import type { Config } from '../config/config.ts'
import { chooseIssuer } from '../config/issuer.ts'
import type { Arguments } from './args.ts'
import { CommandError, UsageError } from './errors.ts'
import { asObject, parseJson } from './output/json.ts'
import { printable } from './output/table.ts'
import { loadSettings } from './settings.ts'

export async function health(args: Arguments): Promise<void> {
  const { config } = await loadSettings(args)
  if (config.port === 0) throw new UsageError('health needs the port of the server: --port or GATEHOUSE_PORT')
  const path = args.has('--ready') ? '/readyz' : '/healthz'
  const { status, body } = await ask(config, path, (args.integer('--timeout', { least: 1, most: 60 }) ?? 2) * 1000)
  if (status !== 200) throw new CommandError(`The server is not ${path === '/readyz' ? 'ready' : 'alive'}${why(body)}`)
  process.stdout.write(path === '/readyz' ? 'ready\n' : 'alive\n')
}

/** Over TLS the certificate is not checked: it names the public host, and this request stays on the machine. */
function ask(config: Config, path: string, timeoutMs: number): Promise<{ status: number | undefined; body: string }> {
  const options = { host: localHost(config.host), port: config.port, path, agent: false, timeout: timeoutMs }
  const { hostname } = new URL(chooseIssuer(config))
  return new Promise((resolve, reject) => {
    const request =
      config.tlsCertificate === ''
        ? http.get(options)
        : https.get({ ...options, rejectUnauthorized: false, servername: hostname })
    const fail = (reason: string) =>
      reject(new CommandError(`The server at port ${config.port} does not answer (${reason})`))
    request.on('timeout', () => request.destroy(new Error(`not within ${timeoutMs / 1000} s`)))
    request.on('error', (error) => fail(error.message || error.name))
    request.on('response', (response) => {
      text(response).then(
        (body) => resolve({ status: response.statusCode, body }),
        (error) => fail(String(error)),
      )
    })
  })
}

/** An address of this machine where the server listens. */
function localHost(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1'
  return host === '::' ? '::1' : host
}

function why(body: string): string {
  const checks = Object.entries(asObject(asObject(parseJson(body)).checks)).filter(([, state]) => state !== 'ok')
  return checks.map(([name, state]) => `: ${printable(`${name}: ${state}`)}`).join('')
}
