/** `gatehouse agent skill`: what assistants should know, as a file SKILL.md. */
import { writeSkill } from '../../mcp/skill.ts'

export async function agentSkill(): Promise<void> {
  process.stdout.write(writeSkill())
}
