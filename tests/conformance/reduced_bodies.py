"""Makes a model smaller as long as something is true of it."""
import numpy as np
import onnx
from onnx import numpy_helper


def bodies_of(node):
    return [a.g for a in node.attribute if a.type == onnx.AttributeProto.GRAPH]


def graphs_in(graph):
    yield graph
    for node in graph.node:
        for body in bodies_of(node):
            yield from graphs_in(body)


def names_read(graph):
    names = [output.name for output in graph.output]
    for node in graph.node:
        names += node.input
        for body in bodies_of(node):
            names += names_read(body)
    return set(names)


def drop_unread(graph, ops=None):
    """Drops nodes of these operators (None: all) and initializers that nobody reads. True if there were any."""
    read = names_read(graph)
    dead = [n for n in graph.node if not read & set(n.output) and (ops is None or n.op_type in ops)]
    unread = [i for i in graph.initializer if i.name not in read]
    for lists, items in ((graph.node, dead), (graph.initializer, unread)):
        for item in items:
            lists.remove(item)
    return bool(dead or unread)


def without_dead(model, ops=None):
    """Drops what nobody reads, also inputs of the model."""
    while any([drop_unread(graph, ops) for graph in graphs_in(model.graph)]):
        pass
    read = names_read(model.graph)
    for info in [info for info in model.graph.input if info.name not in read]:
        model.graph.input.remove(info)
    return model


def copy_of(model):
    return onnx.ModelProto.FromString(model.SerializeToString())


def with_constants(model, where, index):
    """Node `index` of graph `where` becomes initializers; None where a type is not known."""
    typed = list(graphs_in(onnx.shape_inference.infer_shapes(model).graph))[where]
    types = {info.name: info.type.tensor_type for info in [*typed.value_info, *typed.output]}
    model = copy_of(model)
    graph = list(graphs_in(model.graph))[where]
    for name in graph.node[index].output:
        known = types.get(name)
        if known is None or not known.HasField('shape') or any(not dim.HasField('dim_value') for dim in known.shape.dim):
            return None
        shape = [dim.dim_value for dim in known.shape.dim]
        dtype = onnx.helper.tensor_dtype_to_np_dtype(known.elem_type)
        elements = (np.arange(int(np.prod(shape))) % 2).reshape(shape).astype(dtype)
        graph.initializer.append(numpy_helper.from_array(elements, name))
    del graph.node[index]
    return model


def steps(model):
    for i in range(len(model.graph.output)):
        if len(model.graph.output) > 1:
            smaller = copy_of(model)
            del smaller.graph.output[i]
            yield smaller
    for where, graph in enumerate(graphs_in(model.graph)):
        for index in reversed(range(len(graph.node))):
            if graph.node[index].op_type not in ('Constant', 'Identity') or graph.node[index].input:
                yield with_constants(model, where, index)


def candidates(model):
    """Of each step first the model without what nobody reads then: it may be that which matters."""
    for smaller in steps(model):
        if smaller is not None:
            yield without_dead(copy_of(smaller))
            yield without_dead(smaller, ('Constant',))


def reduce(model, is_right):
    """`is_right(smaller)` runs for each model that is tried, and last for the one that is kept."""
    kept = None
    changed = True
    while changed:
        changed = False
        for smaller in candidates(model):
            if is_right(smaller):
                model = kept = smaller
                changed = True
                break
    return kept or model
