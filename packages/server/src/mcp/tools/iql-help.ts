/** The tool that explains the language. */
import { iqlHelp } from './iql-guide.ts'
import { object } from './schemas.ts'
import type { ToolDefinition } from './tool-set.ts'

export function iqlHelpTool(): ToolDefinition {
  return {
    name: 'iql_help',
    title: 'Help with IQL',
    description: 'Explains IQL, the query language, in short; with a topic, the chapters and functions that match.',
    example: { topic: 'time_bucket' },
    inputSchema: object([], {
      topic: {
        type: 'string',
        maxLength: 200,
        description: 'A function or some words, such as time_bucket or asof join.',
      },
    }),
    run: async (args) => ({ text: iqlHelp(args.text('topic')) }),
  }
}
