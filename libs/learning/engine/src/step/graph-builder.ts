import { EngineError } from '../errors';
import { type OperationAttribute, type TensorflowBinding } from '../backend/tensorflow-backend';
import { type AttrValue, type GraphMessages, type TensorShape } from './graph-messages';

// The version of the graph format that libtensorflow 2.9, the oldest library in use, writes.
const GRAPH_VERSION = 1087;
const SAVED_MODEL_TAG = 'serve';

type Attributes = Record<string, AttrValue>;

/** Writes a TensorFlow graph node by node. A node's output is named `node` or, from the second output on, `node:1`. */
export class GraphBuilder {
  private readonly graph;
  private nodes = 0;

  constructor(
    private readonly messages: GraphMessages,
    private readonly binding: TensorflowBinding,
  ) {
    this.graph = new messages.GraphDef();
  }

  get size(): number {
    return this.nodes;
  }

  placeholder(name: string, dtype: number, shape: readonly number[]): string {
    return this.add(name, 'Placeholder', [], { dtype: this.type(dtype), shape: this.shape(shape) });
  }

  /** A constant, available once the nodes in `after` have run. */
  constant(
    name: string,
    dtype: number,
    shape: readonly number[],
    bytes: Uint8Array,
    after: readonly string[] = [],
  ): string {
    const tensor = new this.messages.Tensor();
    tensor.setDtype(dtype);
    tensor.setTensorShape(this.shapeMessage(shape));
    tensor.setTensorContent(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64'));
    const value = this.value((attribute) => attribute.setTensor(tensor));
    const waits = after.map((node) => `^${node}`);
    return this.add(name, 'Const', waits, { dtype: this.type(dtype), value });
  }

  /** A variable that lives in the session: set by running `assigned/name`, read as `read/name`. */
  variable(name: string, dtype: number, shape: readonly number[]): { handle: string; value: string } {
    const type = this.type(dtype);
    const handle = this.add(name, 'VarHandleOp', [], {
      container: this.text(''),
      shared_name: this.text(name),
      dtype: type,
      shape: this.shape(shape),
    });
    const initial = this.placeholder(`initial/${name}`, dtype, shape);
    // A fed tensor may lie in JavaScript's memory. A variable that kept it would hand it back on a thread of
    // TensorFlow's, where no JavaScript object may be touched, so the variable gets a copy of its own.
    const copy = this.add(`copy/${name}`, 'DeepCopy', [initial], { T: type });
    const assign = this.add(`assign/${name}`, 'AssignVariableOp', [handle, copy], { dtype: type });
    this.constant(`assigned/${name}`, this.binding.TF_INT32, [], new Uint8Array(4), [assign]);
    return { handle, value: this.add(`read/${name}`, 'ReadVariableOp', [handle], { dtype: type }) };
  }

  /** An operation on float32 tensors with boolean attributes. */
  floatOperation(
    name: string,
    operation: string,
    inputs: readonly string[],
    flags: Readonly<Record<string, boolean>> = {},
  ): string {
    const attributes: Attributes = { T: this.type(this.binding.TF_FLOAT) };
    for (const [flag, on] of Object.entries(flags)) attributes[flag] = this.value((value) => value.setB(on));
    return this.add(name, operation, inputs, attributes);
  }

  /** An operation as tfjs-node ran it. */
  recorded(
    name: string,
    operation: string,
    inputs: readonly string[],
    attributes: readonly OperationAttribute[],
  ): string {
    const written = attributes.map((attribute) => [attribute.name, this.recordedValue(operation, attribute)]);
    return this.add(name, operation, inputs, Object.fromEntries(written) as Attributes);
  }

  /** The graph as a `saved_model.pb`. */
  serialise(): { tag: string; bytes: Uint8Array } {
    const versions = new this.messages.VersionDef();
    versions.setProducer(GRAPH_VERSION);
    this.graph.setVersions(versions);
    const info = new this.messages.MetaGraphDef.MetaInfoDef();
    info.addTags(SAVED_MODEL_TAG);
    const metaGraph = new this.messages.MetaGraphDef();
    metaGraph.setMetaInfoDef(info);
    metaGraph.setGraphDef(this.graph);
    const savedModel = new this.messages.SavedModel();
    savedModel.setSavedModelSchemaVersion(1);
    savedModel.addMetaGraphs(metaGraph);
    return { tag: SAVED_MODEL_TAG, bytes: savedModel.serializeBinary() };
  }

  private add(name: string, operation: string, inputs: readonly string[], attributes: Attributes): string {
    const node = new this.messages.NodeDef();
    node.setName(name);
    node.setOp(operation);
    for (const input of inputs) node.addInput(input);
    for (const [key, value] of Object.entries(attributes)) node.getAttrMap().set(key, value);
    this.graph.addNode(node);
    this.nodes++;
    return name;
  }

  private recordedValue(operation: string, { name, type, value }: OperationAttribute): AttrValue {
    const { binding } = this;
    if (type === binding.TF_ATTR_SHAPE) return this.shape(value as number[]);
    if (Array.isArray(value)) return this.list(operation, name, type, value);
    switch (type) {
      case binding.TF_ATTR_TYPE:
        return this.type(value as number);
      case binding.TF_ATTR_BOOL:
        return this.value((attribute) => attribute.setB(Boolean(value)));
      case binding.TF_ATTR_INT:
        return this.value((attribute) => attribute.setI(value as number));
      case binding.TF_ATTR_FLOAT:
        return this.value((attribute) => attribute.setF(value as number));
      case binding.TF_ATTR_STRING:
        return this.text(value as string);
      default:
        throw unknownAttribute(operation, name);
    }
  }

  private list(operation: string, name: string, type: number, values: unknown[]): AttrValue {
    const { binding } = this;
    const list = new this.messages.AttrValue.ListValue();
    if (type === binding.TF_ATTR_INT) list.setIList(values as number[]);
    else if (type === binding.TF_ATTR_FLOAT) list.setFList(values as number[]);
    else if (type === binding.TF_ATTR_BOOL) list.setBList(values as boolean[]);
    else throw unknownAttribute(operation, name);
    return this.value((attribute) => attribute.setList(list));
  }

  private value(fill: (attribute: AttrValue) => void): AttrValue {
    const attribute = new this.messages.AttrValue();
    fill(attribute);
    return attribute;
  }

  private type(dtype: number): AttrValue {
    return this.value((attribute) => attribute.setType(dtype));
  }

  private text(text: string): AttrValue {
    return this.value((attribute) => attribute.setS(Buffer.from(text).toString('base64')));
  }

  private shape(shape: readonly number[]): AttrValue {
    return this.value((attribute) => attribute.setShape(this.shapeMessage(shape)));
  }

  private shapeMessage(shape: readonly number[]): TensorShape {
    const message = new this.messages.TensorShape();
    for (const extent of shape) {
      const dimension = new this.messages.TensorShape.Dim();
      dimension.setSize(extent);
      message.addDim(dimension);
    }
    return message;
  }
}

const unknownAttribute = (operation: string, name: string): EngineError =>
  new EngineError(
    'not-recordable',
    `operation ${operation}: attribute ${name} can't be written into a graph`,
  );
