/** `gatehouse mcp`: the platform for assistants that start a program and talk to it over stdin and stdout. */
import { AGENT_PATH } from 'gatehouse-protocol'
import type { Arguments } from '../args.ts'
import { withGateTo } from '../gate.ts'
import { serverAddress } from '../sign-in/server-address.ts'
import { chooseAgentAuth, requireFreeStdin } from '../sign-in/sign-in.ts'
import { StdioBridge } from './stdio.ts'

export async function mcp(args: Arguments): Promise<void> {
  requireFreeStdin(args, 'the messages')
  const server = serverAddress(args.value('--server'))
  await withGateTo(server, chooseAgentAuth(server, args), async ({ auth, fetch: send }) => {
    const write = (line: string): void => void process.stdout.write(line)
    await new StdioBridge({ url: `${server}${AGENT_PATH}`, auth, send, input: process.stdin, write }).run()
  })
}
