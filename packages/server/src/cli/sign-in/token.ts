/** `gatehouse token`: prints an access token, for PGPASSWORD and other programs. */
import type { Arguments } from '../args.ts'
import { CommandError } from '../errors.ts'
import { withGate } from '../gate.ts'
import { decodeClaims } from './token-claims.ts'

export function token(args: Arguments): Promise<void> {
  return withGate(args, async (gate) => {
    const accessToken = await gate.auth.token()
    // RFC 9449 §7.1: nobody else could use it.
    if (decodeClaims(accessToken).cnf !== undefined)
      throw new CommandError('The tokens of this client are bound to a key that only the command line has')
    process.stdout.write(`${accessToken}\n`)
  })
}
