/** Administration of a running server, with the login of this user. */
import { ConnectionError, GatehouseError } from '../../../../client/src/index.ts'
import { CommandError } from '../errors.ts'
import { createGate, explained, type Gate } from '../gate.ts'
import { parseJson } from '../output/json.ts'
import { printable } from '../output/table.ts'
import { serverAddress } from '../sign-in/server-address.ts'
import { loginAuth } from '../sign-in/sign-in.ts'
import type { AdminRequest } from './admin-command.ts'

export function connectRemotely(address: string): { request: AdminRequest; close(): Promise<void> } {
  const server = serverAddress(address)
  const gate = createGate(server, loginAuth(server))
  return {
    async request(method, target, { body, ifMatch } = {}) {
      const response = await send(gate, method, target, { body, headers: { 'if-match': ifMatch } })
      if (response.headers.get('content-type')?.startsWith('application/x-ndjson') === true)
        return { body: undefined, lines: readText(response) }
      const text = await response.text()
      const reply = parseJson(text)
      // For example the page of a proxy whose server is down.
      if (text !== '' && reply === undefined)
        throw new CommandError(`${server} is not a Gatehouse server: its answer is not JSON`)
      return { body: reply, lines: undefined }
    },
    close: async () => gate.close(),
  }
}

async function send(gate: Gate, method: string, target: string, options: object): Promise<Response> {
  try {
    return await gate.request(target, { method, ...options })
  } catch (error) {
    const isRefusal = error instanceof GatehouseError && !(error instanceof ConnectionError)
    if (!isRefusal || error.status === undefined || error.code.startsWith('http.')) throw explained(error)
    throw new CommandError(`${printable(error.message)} (${error.status})`)
  }
}

async function* readText(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) yield decoder.decode(chunk, { stream: true })
}
