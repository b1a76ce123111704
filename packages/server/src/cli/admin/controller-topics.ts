/** The topics of a remote controller, as the options of `gatehouse controller add` give them. */
import type { Arguments } from '../args.ts'
import { UsageError } from '../errors.ts'
import type { JsonObject } from '../output/json.ts'

/** The member `topics`. */
export function readControllerTopics(args: Arguments): readonly JsonObject[] {
  if (!args.has('--url') || !args.has('--topic'))
    throw new UsageError('controller add needs --url URL and at least one --topic TOPIC=NEEDS')
  return args.values('--topic').map(readTopic)
}

/** A topic may contain the sign, a scope cannot. */
function readTopic(text: string): JsonObject {
  const at = text.lastIndexOf('=')
  if (at < 1) throw new UsageError(`--topic ${text}: write TOPIC=NEEDS, such as Place=Platform/Trading`)
  return { name: text.slice(0, at), needs: text.slice(at + 1) }
}
