/** `gatehouse stream`: a streaming session in a terminal or in a pipe. */
import type { Arguments } from '../args.ts'
import { loginToken, serverAddress } from '../client.ts'
import { readLogin } from '../credentials.ts'
import { UsageError } from '../errors.ts'
import { clientOf, optionalToken } from '../sign-in.ts'
import { runPipe } from './pipe.ts'
import { openSession } from './session.ts'
import { runTerminal } from './terminal.ts'

export async function stream(args: Arguments): Promise<void> {
  const server = serverAddress(args.positionals[0])
  const getToken = optionalToken(server, args) ?? storedToken(server, args)
  const waitMs = readWait(args)
  const session = await openSession(server, args.value('--version') ?? '1.1')
  try {
    if (getToken !== undefined) await session.authenticate(await getToken())
    if (process.stdin.isTTY) await runTerminal(session, clientOf(args))
    else process.exitCode = await runPipe(session, waitMs)
  } finally {
    session.close()
  }
}

/** Streams are open to everyone: without a login the session is anonymous. */
function storedToken(server: string, args: Arguments): (() => Promise<string>) | undefined {
  return args.has('--anonymous') || readLogin(server) === undefined ? undefined : () => loginToken(server)
}

function readWait(args: Arguments): number {
  const text = args.value('--wait') ?? '5'
  if (!/^\d+(\.\d+)?$/.test(text)) throw new UsageError(`--wait takes a number of seconds, not "${text}"`)
  return Number(text) * 1000
}
