/** HTTP/1.1 over a plain socket: a client that adds next to nothing to the time of an answer. */
import { connect, type Socket } from "node:net";

export interface TimedAnswer {
  status: number;
  /** From the request's last byte given to the system until the answer's last byte taken from it. */
  wireMs: number;
  /** What the server itself took, as its header Server-Timing says. */
  serverMs: number;
}

const headEnd = Buffer.from("\r\n\r\n");

function headerNumber(head: string, pattern: RegExp): number {
  const found = pattern.exec(head);
  if (!found) throw new Error(`no ${pattern} in the answer's head: ${head}`);
  return Number(found[1]);
}

/** One connection, one request after another. */
export class SocketClient {
  private constructor(
    private readonly socket: Socket,
    private readonly url: URL,
  ) {}

  static open(url: URL): Promise<SocketClient> {
    return new Promise((resolve, reject) => {
      const socket = connect(Number(url.port), url.hostname, () => resolve(new SocketClient(socket, url)));
      socket.setNoDelay(true);
      socket.on("error", reject);
    });
  }

  /** `path` is relative to the page's address. */
  ask(path: string): Promise<TimedAnswer> {
    const request = Buffer.from(`GET ${this.url.pathname}${path} HTTP/1.1\r\nHost: ${this.url.host}\r\n\r\n`);
    return new Promise((resolve, reject) => {
      const parts: Buffer[] = [];
      let head: string | null = null;
      let missingBytes = 0;
      const finish = (settle: () => void) => {
        this.socket.off("data", onData);
        this.socket.off("close", onClose);
        settle();
      };
      const onClose = () => finish(() => reject(new Error("the server closed the connection")));
      const onData = (part: Buffer) => {
        if (head === null) {
          parts.push(part);
          const received = Buffer.concat(parts);
          const end = received.indexOf(headEnd);
          if (end < 0) return;
          head = received.toString("latin1", 0, end);
          missingBytes = headerNumber(head, /content-length: (\d+)/i) - (received.length - end - headEnd.length);
        } else missingBytes -= part.length;
        if (missingBytes > 0) return;
        const wireMs = performance.now() - begin;
        const answer = {
          status: headerNumber(head, /^HTTP\/1\.1 (\d+)/),
          wireMs,
          serverMs: headerNumber(head, /server-timing: answer;dur=([\d.]+)/i),
        };
        finish(() => resolve(answer));
      };
      this.socket.on("data", onData);
      this.socket.on("close", onClose);
      const begin = performance.now();
      this.socket.write(request);
    });
  }

  close(): void {
    this.socket.destroy();
  }
}
