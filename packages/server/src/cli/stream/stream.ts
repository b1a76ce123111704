/** `gatehouse stream`: a streaming session in a terminal or in a pipe. */
import type { Auth, GrantedTokens } from '../../../../client/src/index.ts'
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import { readLogin } from '../sign-in/credentials.ts'
import { serverAddress } from '../sign-in/server-address.ts'
import { clientOption, loginAuth, optionalAuth, requireFreeStdin } from '../sign-in/sign-in.ts'
import { runPipe } from './pipe.ts'
import { StreamSession } from './session.ts'
import { runTerminal } from './terminal.ts'

export async function stream(args: Arguments): Promise<void> {
  requireFreeStdin(args, 'the messages')
  const server = serverAddress(args.positionals[0] ?? args.value('--server'))
  const auth = optionalAuth(args) ?? storedAuth(server, args)
  const waitMs = readWait(args)
  const session = new StreamSession(server, args.value('--version') ?? '1.1')
  try {
    await session.connect(auth)
    if (process.stdin.isTTY) await runTerminal(session, clientOption(args))
    else process.exitCode = await runPipe(session, waitMs)
  } finally {
    session.close()
  }
}

/** Streams are open to everyone: without a login the session is anonymous. */
function storedAuth(server: string, args: Arguments): Auth<GrantedTokens> | undefined {
  return args.has('--anonymous') || readLogin(server) === undefined ? undefined : loginAuth(server)
}

function readWait(args: Arguments): number {
  const text = args.value('--wait') ?? '5'
  if (!/^\d+(\.\d+)?$/.test(text)) throw new UsageError(`--wait takes a number of seconds, not "${text}"`)
  return Number(text) * 1000
}
