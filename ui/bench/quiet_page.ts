/**
 * A page that nobody listens to. Playwright's own pages keep every answer of the network in the renderer for its tools, which is memory
 * that no reader's browser uses; this one is only told where to go and what to evaluate.
 */
import type { Browser, CDPSession } from "playwright-core";

const pollMs = 30;

interface Reply {
  id?: number;
  result?: { result?: { value?: unknown }; exceptionDetails?: { text: string } };
  error?: { message: string };
}

export class QuietPage {
  private lastId = 0;
  private readonly waiting = new Map<number, (reply: Reply) => void>();

  private constructor(
    private readonly browser: CDPSession,
    private readonly targetId: string,
    private readonly sessionId: string,
  ) {
    browser.on("Target.receivedMessageFromTarget", ({ message }) => {
      const reply = JSON.parse(message) as Reply;
      if (reply.id !== undefined) this.waiting.get(reply.id)?.(reply);
    });
  }

  static async open(browser: Browser, width: number, height: number): Promise<QuietPage> {
    const session = await browser.newBrowserCDPSession();
    const { targetId } = await session.send("Target.createTarget", { url: "about:blank", width, height });
    const { sessionId } = await session.send("Target.attachToTarget", { targetId, flatten: false });
    return new QuietPage(session, targetId, sessionId);
  }

  async goto(url: string): Promise<void> {
    await this.send("Page.navigate", { url });
  }

  /** The value of an expression, awaited when it is a promise. */
  async evaluate(expression: string): Promise<unknown> {
    const reply = await this.send("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    const problem = reply.error?.message ?? reply.result?.exceptionDetails?.text;
    if (problem) throw new Error(problem);
    return reply.result?.result?.value;
  }

  async waitForSelector(selector: string): Promise<void> {
    const isThere = `document.querySelector(${JSON.stringify(selector)}) !== null`;
    while ((await this.evaluate(isThere)) !== true) await new Promise((resolve) => setTimeout(resolve, pollMs));
  }

  async close(): Promise<void> {
    await this.browser.send("Target.closeTarget", { targetId: this.targetId });
    await this.browser.detach();
  }

  private async send(method: string, params: object): Promise<Reply> {
    this.lastId += 1;
    const id = this.lastId;
    const reply = new Promise<Reply>((resolve) => this.waiting.set(id, resolve));
    const message = JSON.stringify({ id, method, params });
    await this.browser.send("Target.sendMessageToTarget", { sessionId: this.sessionId, message });
    return reply.finally(() => this.waiting.delete(id));
  }
}
