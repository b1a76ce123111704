/** Receives webhooks in the process of the benchmark, and hands each body on. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface AlertReceiver {
  readonly url: string
  stop(): Promise<void>
}

export interface ReceivedNotice {
  readonly id: string
  readonly alert: string
  readonly keys: readonly (readonly unknown[])[]
  /** When it had arrived, by `performance.now()`. */
  readonly at: number
}

interface Body {
  readonly data: { readonly alert: string; readonly instances: readonly { readonly key: readonly unknown[] }[] }
}

export async function startAlertReceiver(onNotice: (notice: ReceivedNotice) => void): Promise<AlertReceiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const at = performance.now()
      response.writeHead(204).end()
      const { data }: Body = JSON.parse(Buffer.concat(chunks).toString())
      const keys = data.instances.map(({ key }) => key)
      onNotice({ id: String(request.headers['webhook-id']), alert: data.alert, keys, at })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
