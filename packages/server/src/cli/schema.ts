/** `gatehouse schema`: the JSON Schema of the declarative file, for editors and validators. */
import { declarationJsonSchema } from '../declarative/json-schema.ts'

export async function schema(): Promise<void> {
  process.stdout.write(`${JSON.stringify(declarationJsonSchema(), null, 2)}\n`)
}
