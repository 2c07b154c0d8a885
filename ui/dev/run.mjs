// A synthetic training run, generated here: 24 layers, AdamW, logits, four steps. It stands in for the engine's store.
const MiB = 2 ** 20;

export function makeRun({ layers = 24, steps = 4, width = 32 * MiB, logits = 1800 * MiB } = {}) {
  const allocations = [];
  const events = [];
  const phases = [];
  const stepList = [];
  const frames = (...names) =>
    names.map(([fn, file, line, useful = true]) => ({ function: fn, file, line, kind: "python", useful }));
  const alloc = (size, category, stack, shape) => {
    const row = allocations.length;
    allocations.push({ row, size, category, stack, shape, begin: events.length, end: null, address: 0 });
    events.push({ kind: "alloc", row });
    return row;
  };
  const free = (row) => {
    if (allocations[row].end !== null) return;
    allocations[row].end = events.length;
    events.push({ kind: "free_completed", row });
  };
  const train = ["train_step", "/home/user/project/train.py"];
  const phase = (step, name, body) => {
    const begin = events.length;
    body();
    if (events.length > begin) phases.push({ step, name, begin_seq: begin, end_seq: events.length });
  };

  const parameters = [];
  phase(null, "load", () => {
    parameters.push(
      alloc(
        11 * width,
        "parameter",
        frames(
          ["Embedding.__init__", "/site/torch/nn/sparse.py", 167],
          ["GPT.__init__", "/home/user/project/model.py", 25],
        ),
      ),
    );
    for (let layer = 0; layer < layers; layer += 1)
      for (let part = 0; part < 6; part += 1)
        parameters.push(
          alloc(
            [3, 1, 4, 4, 0.001, 0.001][part] * width,
            "parameter",
            frames(
              ["Linear.__init__", "/site/torch/nn/linear.py", 106],
              [part < 2 ? "Attention.__init__" : "MLP.__init__", "/home/user/project/model.py", 12 + part],
              ["Block.__init__", "/home/user/project/model.py", 20],
            ),
          ),
        );
    parameters.push(
      alloc(
        11 * width,
        "parameter",
        frames(
          ["Linear.__init__", "/site/torch/nn/linear.py", 106],
          ["GPT.__init__", "/home/user/project/model.py", 27],
        ),
      ),
    );
  });
  const states = [];
  for (let step = 0; step < steps; step += 1) {
    const begin = events.length;
    const kept = [];
    const gradients = [];
    let slab;
    phase(step, "forward", () => {
      kept.push(alloc(0.06 * width, "input", frames([train[0], train[1], 32])));
      for (let layer = 0; layer < layers; layer += 1) {
        kept.push(
          alloc(
            1.5 * width,
            "activation",
            frames(
              ["Block.forward", "/home/user/project/model.py", 44],
              ["checkpoint", "/site/torch/utils/checkpoint.py", 495, false],
              ["GPT.forward", "/home/user/project/model.py", 60],
            ),
          ),
        );
        const temporaries = [];
        for (let i = 0; i < 8; i += 1)
          temporaries.push(
            alloc(
              (1 + (i % 3)) * width * 0.7,
              "temporary",
              frames(
                ["MLP.forward", "/home/user/project/model.py", 31 + i],
                ["Block.forward", "/home/user/project/model.py", 46],
              ),
            ),
          );
        for (const row of temporaries) free(row);
      }
    });
    phase(step, "loss", () => {
      slab = alloc(
        logits / 2,
        "logits",
        frames(["GPT.forward", "/home/user/project/model.py", 66], [train[0], train[1], 34]),
      );
      const copy = alloc(
        logits,
        "logits",
        frames(["cross_entropy", "/site/torch/nn/functional.py", 3494], ["compute_loss", train[1], 30]),
      );
      const soft = alloc(
        logits,
        "logits",
        frames(["cross_entropy", "/site/torch/nn/functional.py", 3494], ["compute_loss", train[1], 30]),
      );
      free(copy);
      kept.push(soft);
    });
    phase(step, "backward", () => {
      const grad = alloc(logits, "logits", []);
      const second = alloc(logits, "logits", []);
      free(grad);
      free(kept.pop());
      free(second);
      free(slab);
      for (let index = parameters.length - 1; index >= 0; index -= 1) {
        gradients.push(alloc(allocations[parameters[index]].size, "gradient", []));
        const ripple = [];
        for (let i = 0; i < 3; i += 1) ripple.push(alloc(width * (0.4 + 0.3 * i), "temporary", []));
        for (const row of ripple) free(row);
        if (index % 6 === 0 && kept.length > 0) free(kept.pop());
      }
      while (kept.length > 0) free(kept.pop());
    });
    phase(step, "optimizer", () => {
      if (step === 0)
        for (const name of ["exp_avg", "exp_avg_sq"])
          for (const row of parameters)
            states.push(
              alloc(
                allocations[row].size,
                "optimizer_state",
                frames(
                  ["_init_group", "/site/torch/optim/adam.py", name === "exp_avg" ? 176 : 180],
                  ["step", "/site/torch/optim/optimizer.py", 79, false],
                  [train[0], train[1], 38],
                ),
              ),
            );
      const temporaries = parameters.map((row) =>
        alloc(
          allocations[row].size,
          "temporary",
          frames(["_multi_tensor_adamw", "/site/torch/optim/adamw.py", 420], [train[0], train[1], 38]),
        ),
      );
      for (const row of temporaries) free(row);
    });
    phase(step, "zero_grad", () => {
      for (const row of gradients) free(row);
    });
    stepList.push({ index: step, begin_seq: begin, end_seq: events.length, complete: true });
  }
  layout(allocations, events);
  return { allocations, events, phases, steps: stepList };
}

// First-fit addresses and reserved segments, enough for State and Address map.
function layout(allocations, events) {
  const holes = [];
  const segments = [];
  let top = 0x600000000000;
  let reserved = 0;
  events.forEach((event, seq) => {
    const a = allocations[event.row];
    if (event.kind === "alloc") {
      let index = holes.findIndex((hole) => hole.size >= a.size);
      if (index < 0) {
        const size = Math.max(20 * MiB, Math.ceil(a.size / (2 * MiB)) * 2 * MiB);
        segments.push({ address: top, size, begin: seq });
        holes.push({ address: top, size });
        top += size + 512 * MiB;
        reserved += size;
        index = holes.length - 1;
      }
      const hole = holes[index];
      a.address = hole.address;
      hole.address += a.size;
      hole.size -= a.size;
      if (hole.size <= 0) holes.splice(index, 1);
    } else {
      holes.push({ address: a.address, size: a.size });
      holes.sort((x, y) => x.address - y.address);
      for (let i = holes.length - 1; i > 0; i -= 1)
        if (holes[i - 1].address + holes[i - 1].size === holes[i].address) {
          holes[i - 1].size += holes[i].size;
          holes.splice(i, 1);
        }
    }
    event.reserved = reserved;
  });
  allocations.segments = segments;
}
