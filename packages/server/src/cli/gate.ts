/** The client library as commands use it: a server with a source of tokens, and errors in the words of the command line. */

import { caretPicture } from 'gatehouse-iql'
import {
  type Auth,
  ConnectionError,
  Gatehouse,
  GatehouseError,
  type GrantedTokens,
  LicenceNeeded,
  QueryError,
  StepUpNeeded,
} from '../../../client/src/index.ts'
import type { Arguments } from './args.ts'
import { CommandError, UsageError } from './errors.ts'
import { printable } from './output/table.ts'
import { serverAddress } from './sign-in/server-address.ts'
import { chooseAuth } from './sign-in/sign-in.ts'

export type Gate = Gatehouse<GrantedTokens>

export interface GateOptions {
  /** The most attempts for a request: a person at a terminal can retry, an import cannot ask. */
  readonly attempts?: number
}

/** Does not request a token yet. */
export function createGate(server: string, auth: Auth<GrantedTokens>, { attempts = 1 }: GateOptions = {}): Gate {
  // As text no integer is rounded.
  return new Gatehouse(server, { auth, attempts, values: { integer: 'text' } })
}

/** For commands that take --server and the options of a sign-in. */
export function withGate<T>(args: Arguments, act: (gate: Gate) => Promise<T>, options?: GateOptions): Promise<T> {
  const server = serverAddress(args.value('--server'))
  return withGateTo(server, chooseAuth(server, args), act, options)
}

/** Signs in, which may ask for a password, and closes the client in the end. */
export async function withGateTo<T>(
  server: string,
  auth: Auth<GrantedTokens>,
  act: (gate: Gate) => Promise<T>,
  options?: GateOptions,
): Promise<T> {
  const gate = createGate(server, auth, options)
  try {
    await gate.auth.token()
    return await act(gate)
  } catch (error) {
    throw explained(error)
  } finally {
    gate.close()
  }
}

/** Errors of the client library become those of a command; others stay as they are. */
export function explained(error: unknown): unknown {
  if (!(error instanceof GatehouseError)) return error
  // The stream passes on what a source of tokens has thrown.
  if (error.cause instanceof CommandError || error.cause instanceof UsageError) return error.cause
  return new CommandError(formatError(error))
}

/** Node's own does not help: the launcher may be an older Node, which does not know the option. */
const NODE_CA_HINT = /; if the root CA is installed locally, try running Node\.js with --use-system-ca/
const CA_HINT =
  '; if the certificate was signed by your own CA, set NODE_EXTRA_CA_CERTS to the file of the CA certificate in the environment of this command'

/** A token that is stored, or refreshed, has the age and the factors of its sign-in. */
function stepUpHint({ acrValues, maxAge }: StepUpNeeded): string {
  const factors = acrValues === '2' ? ' with two factors' : ''
  const recently = maxAge === undefined ? '' : `, and repeat the command within ${maxAge} seconds`
  return `sign out in the browser, then run gatehouse login again and sign in there${factors}${recently}`
}

/** Texts of a server are printed in one line each, without control characters. */
function formatError(error: GatehouseError): string {
  const { code, details } = error
  const message = error.message.replace(NODE_CA_HINT, CA_HINT)
  const isOurs = error instanceof ConnectionError || /^(client|http)\./.test(code)
  const lines = [printable(isOurs ? message : `${code}: ${message}`)]
  if (error instanceof QueryError && error.statement !== undefined && error.position !== undefined) {
    const { offset, line, column } = error.position
    lines.push(caretPicture(error.statement, { Offset: offset, Line: line, Column: column }))
  }
  if (error instanceof StepUpNeeded) lines.push(`hint: ${stepUpHint(error)}`)
  if (error instanceof LicenceNeeded && error.reason === 'agreement')
    lines.push('hint: read and accept the agreement at /account/data of the server, Market data of your account')
  if (typeof details.Hint === 'string') lines.push(`hint: ${printable(details.Hint)}`)
  return lines.join('\n')
}
