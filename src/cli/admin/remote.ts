/** Administration of a running server, with the login of this user. */
import { connect, loginToken, serverAddress } from '../client.ts'
import { CommandError } from '../errors.ts'
import { membersOf, parseJson } from '../json.ts'
import { printable } from '../table.ts'
import type { AdminRequest } from './admin-command.ts'

export async function connectRemotely(address: string): Promise<AdminRequest> {
  const server = serverAddress(address)
  const connection = await connect(server, (rejected) => loginToken(server, rejected))
  return async (method, target, { body, ifMatch } = {}) => {
    const response = await connection.request(target, {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(ifMatch === undefined ? {} : { 'if-match': ifMatch }),
      },
      body: body === undefined ? undefined : JSON.stringify(body),
    })
    if (!response.ok) throw await refusal(response)
    if (response.headers.get('content-type')?.startsWith('application/x-ndjson') === true)
      return { body: undefined, lines: linesOf(response) }
    const text = await response.text()
    const reply = parseJson(text)
    // For example the page of a proxy whose server is down.
    if (text !== '' && reply === undefined)
      throw new CommandError(`${server} is not a Gatehouse server: its answer is not JSON`)
    return { body: reply, lines: undefined }
  }
}

async function refusal(response: Response): Promise<CommandError> {
  const { detail } = membersOf(parseJson(await response.text()))
  return new CommandError(`${printable(String(detail ?? response.statusText))} (${response.status})`)
}

async function* linesOf(response: Response): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  for await (const chunk of response.body ?? []) yield decoder.decode(chunk, { stream: true })
}
