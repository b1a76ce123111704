/** A command over an administration route: how it is written, what it asks for, how its answer is shown. */
import type { AdminRoute } from '../../admin/route.ts'
import type { Command } from '../command.ts'
import type { OptionKind } from '../settings.ts'

export type JsonObject = Readonly<Record<string, unknown>>

export interface AdminOption {
  readonly kind: OptionKind
  /** What stands for the value in the help. */
  readonly value?: string
  readonly help: string
}

export interface AdminCommand {
  readonly name: string
  /** What must stand after the name, in order. */
  readonly words: readonly string[]
  readonly options?: Readonly<Record<`--${string}`, AdminOption>>
  readonly summary: string
  readonly examples: readonly string[]
  /** It may be the first that a data folder hears of. */
  readonly begins?: true
  /** Asked before anything is destroyed; `--yes` answers it. */
  confirm?(words: readonly string[]): string
  run(call: AdminCommandCall): Promise<Shown>
}

export interface AdminCommandCall {
  readonly words: readonly string[]
  /** The value of an option, or undefined. */
  option(name: `--${string}`): string | undefined
  /** Every value of an option that may come again. */
  values(name: `--${string}`): readonly string[]
  has(name: `--${string}`): boolean
  request(method: AdminRoute['method'], target: string, options?: { body?: unknown; ifMatch?: string }): Promise<Answer>
  /** A password or secret, from a prompt without echo or from stdin. */
  secret(prompt: string): Promise<string>
}

export interface Answer {
  readonly body: unknown
  readonly lines: AsyncIterable<string> | undefined
}

/** What the person sees; `--json` shows the answer as it came. */
export type Shown =
  | { readonly kind: 'table'; readonly columns: readonly string[]; readonly body: unknown }
  | { readonly kind: 'object'; readonly body: unknown }
  | { readonly kind: 'text'; readonly text: string; readonly body?: unknown; readonly failed?: boolean }
  | { readonly kind: 'lines'; readonly lines: AsyncIterable<string> }

export function toCommand(command: AdminCommand): Command {
  const own = Object.entries({ ...command.options, ...COMMON, ...(command.confirm === undefined ? {} : CONFIRMED) })
  const written = own.map(([name, { value }]) => (value === undefined ? name : `${name} ${value}`))
  const width = Math.max(...written.map((text) => text.length))
  const lines = own.map(([, { help }], index) => `  ${(written[index] ?? '').padEnd(width)}  ${help}`)
  return {
    name: command.name,
    usage: [...command.words, '[OPTIONS]', '[SETTINGS]'].join(' '),
    summary: command.summary,
    help: `\n${lines.join('\n')}\n\n${command.examples.map((example) => `  gatehouse ${example}\n`).join('')}`,
    load: async () => {
      const { perform } = await import('./perform.ts')
      return (args) => perform(command, args)
    },
  }
}

export const COMMON: Readonly<Record<`--${string}`, AdminOption>> = {
  '--json': { kind: 'switch', help: 'the answer as JSON' },
}
export const CONFIRMED: Readonly<Record<`--${string}`, AdminOption>> = {
  '--yes': { kind: 'switch', help: 'do not ask first' },
}

/** One part of an address, whatever characters it has. */
export function segment(word: string | undefined): string {
  return encodeURIComponent(word ?? '')
}

/** Only what was given: the rest stays as it is. */
export function given(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined))
}
