/** `gatehouse schema`: the JSON Schema of the declarative file, for editors and checks. */
import { declarationJsonSchema } from '../declarative/json-schema.ts'
import { Usage } from './command.ts'

export async function schema(args: readonly string[]): Promise<void> {
  if (args.length > 0) throw new Usage(`schema takes nothing, not "${args[0]}"`)
  process.stdout.write(`${JSON.stringify(declarationJsonSchema(), null, 2)}\n`)
}
