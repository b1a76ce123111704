/** The prompts of agents: texts that a person chooses to begin with. */
import type { Prompt } from '../protocol/features.ts'
import { escapeText } from '../text/escape.ts'
import type { Names } from './names.ts'

export function createPrompts({ tables }: Names): readonly Prompt[] {
  return [
    {
      name: 'explore_table',
      title: 'Explore a table',
      description: 'What a table holds, with figures and what is unusual in it.',
      arguments: [{ name: 'table', description: 'A table or a view.', required: true, complete: tables }],
      get: async ({ table = '' }) =>
        message(
          `Explore the table ${escapeText(table)} of Gatehouse. Call describe_table, then a few aggregates with query: how many rows, the span of its times, the most frequent values of its texts, least and greatest of its numbers. Say what the table holds, what is unusual, and three questions that it can answer, each with its statement.`,
        ),
    },
    {
      name: 'explain_slow',
      title: 'Explain a slow statement',
      description: 'Why a statement takes long, and how to make it faster.',
      arguments: [{ name: 'statement', description: 'The statement in IQL.', required: true }],
      get: async ({ statement = '' }) =>
        message(
          `Say why this statement of Gatehouse takes long, and how to ask for the same in less time. Call query with EXPLAIN before it, describe_table for its tables, and iql_help with the topic cost. Lines of the plan that begin with "read" read a whole table. Propose a statement that uses a key or an index, or the index that is missing, which only a person can create. The statement: ${escapeText(statement)}`,
        ),
    },
  ]
}

function message(text: string) {
  return { messages: [{ role: 'user', content: { type: 'text', text } }] }
}
